"""The kernel's compiler: from generated Python text, through LLVM, to functions that Python can call."""
