"""Divide and Conquer: a query as yes/no questions, the mean of their answers."""
