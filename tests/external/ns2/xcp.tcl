# ns-2: XCP flows over a dumbbell with XCP queues.
#
#   ns xcp.tcl flows rate(Mb/s) delay(ms) buffer duration access-delay(ms) stagger(s)
#
# The windows every 0.1 s ("cwnd t w0 w1 ...") and at the end "acked flow packets" go to stdout, what
# the router does ("Tq_ t ...", as its timers run) to stderr. Access links are of 1000 Mb/s.

foreach {flows rate delay buffer duration near stagger} $argv {}

Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set tcpTick_ 0.000001
Agent/TCP set timestamps_ true
Agent/TCP set minrto_ 0.2
Agent/TCP set syn_ false

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb ${delay}ms XCP
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
set trace [open "/dev/stderr" w]
proc setup {a b} {
    global ns rate
    set queue [[$ns link $a $b] queue]
    $queue set-link-capacity [expr $rate * 1e6]
}
setup $left $right
setup $right $left
[[$ns link $left $right] queue] attach $trace

for {set i 0} {$i < $flows} {incr i} {
    set source($i) [$ns node]
    set target($i) [$ns node]
    foreach {a b} [list $source($i) $left $target($i) $right] {
        $ns duplex-link $a $b 1000Mb ${near}ms DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    set tcp($i) [new Agent/TCP/Reno/XCP]
    set sink($i) [new Agent/TCPSink/XCPSink]
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $target($i) $sink($i)
    $ns connect $tcp($i) $sink($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr $stagger * $i + 0.0001] "$ftp($i) start"
}
proc sample {} {
    global ns tcp flows
    set line "cwnd [$ns now]"
    for {set i 0} {$i < $flows} {incr i} { lappend line [$tcp($i) set cwnd_] }
    puts $line
    $ns at [expr [$ns now] + 0.1] sample
}
$ns at 0.1 sample
proc finish {} {
    global tcp flows
    for {set i 0} {$i < $flows} {incr i} { puts "acked $i [$tcp($i) set ack_]" }
    exit 0
}
$ns at $duration finish
$ns run
