"""What the scripts beside this folder share: building, running, comparing, saying what came out."""
