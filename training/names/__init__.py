"""The table of names of birds that ships (`kb/checklist/bird_names.npz`): names in other languages, and codes."""
