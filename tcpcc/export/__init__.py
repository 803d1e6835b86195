"""Export of controllers to other systems: C for user space, and BPF for Linux."""
