"""Links of the packet model, and the way of packets over them."""
