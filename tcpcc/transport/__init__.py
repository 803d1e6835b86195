"""The TCP sender and receiver, sans-IO: they take a time and an event, and say what to send."""
