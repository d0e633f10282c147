"""Special cases of compute: Virtual machines, scale sets, disks."""
