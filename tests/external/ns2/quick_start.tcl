# ns-2: flows that ask for a rate with Quick-Start, over a dumbbell whose routers all know of it.
#
#   ns quick_start.tcl trace kind rate(Mb/s) delay(ms) buffer near(ms) duration allocation deaf
#      "start request(KB/s) packets window" ...
#
# One flow for each of the last arguments, all from one host; rates are coded as in RFC 4782. What
# leaves that host is found in the file `trace`, as ns-2 writes it. Access links: 1000 Mb/s. With
# `deaf` = 1 the right router knows nothing of Quick-Start.

foreach {trace kind rate delay buffer near duration allocation deaf} $argv break

Agent/TCP set packetSize_ 1000
Agent/TCP set windowInit_ 2
Agent/TCP set tcpTick_ 0.000001
Agent/TCP set qs_enabled_ true
Agent/TCP set qs_request_mode_ 0
Agent/TCPSink set qs_enabled_ true
Agent/QSAgent set algorithm_ 3
Agent/QSAgent set rate_function_ 2
Agent/QSAgent set threshold_ $allocation
Agent/QSAgent set alloc_rate_ $allocation
Agent/TCP/Newreno set newreno_changes1_ 0
Agent/TCP/Newreno set partial_window_deflation_ 0

set ns [new Simulator]
$ns node-config -QS ON
set source [$ns node]
set left [$ns node]
set right [$ns node]
set target [$ns node]
$ns duplex-link $left $right ${rate}Mb ${delay}ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
foreach {a b} [list $source $left $right $target] {
    $ns duplex-link $a $b 1000Mb ${near}ms DropTail
    $ns queue-limit $a $b 100000
    $ns queue-limit $b $a 100000
}
if {$deaf} { [$right qs-agent] set qs_enabled_ 0 }
set file [open $trace w]
$ns trace-queue $source $left $file

set fid 0
foreach flow [lrange $argv 9 end] {
    foreach {start request packets window} $flow {}
    set tcp [new Agent/TCP/$kind]
    if {$kind == "Sack1"} { set sink [new Agent/TCPSink/Sack1] } else { set sink [new Agent/TCPSink] }
    $tcp set window_ $window
    $tcp set rate_request_ $request
    $tcp set fid_ $fid
    $ns attach-agent $source $tcp
    $ns attach-agent $target $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp produce $packets"
    incr fid
}
proc finish {} {
    global file
    close $file
    exit 0
}
$ns at $duration finish
$ns run
