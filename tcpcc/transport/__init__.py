"""The TCP sender and receiver, sans-IO: handlers take the time and an event, and say what to send."""
