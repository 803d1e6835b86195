"""The TCP sender and receiver, sans-IO: functions of a time and an event that say what to send."""
