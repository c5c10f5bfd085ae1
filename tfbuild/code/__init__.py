"""What a library's machine code uses: which instructions, in which component, guarded or not."""
