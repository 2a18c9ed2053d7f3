"""Output of a build: from files in memory to files on disk. The only step that writes.

staging       a folder beside the output, on the same file system
format        one run of ruff over the stage
import check  every staged module is imported in a fresh interpreter
publish       replaces changed files and removes own orphans, or restores everything
lock          inputs and outputs, so the next build can detect that nothing changed
"""
