"""Shared by the scripts in the folder above: building, running, comparing, reporting."""
