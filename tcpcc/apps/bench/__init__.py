"""What a model costs and how exact it is on this machine: `tcpcc bench`."""
