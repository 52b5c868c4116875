"""Photos of a folder: opened as a collection, shown as a contact sheet."""
