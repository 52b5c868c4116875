"""Long runs: photos and pages by the ten thousand, with rate and memory over time."""
