# ns-2: transfers of so many packets over one dumbbell, drop-tail, with a timer that counts ticks.
# Prints "name flow value" lines.
#
#   ns transfers.tcl transfers rate(Mb/s) delay(ms) buffer window tick(s) duration
#
# transfers: kind,packets,start for each, kind Reno or Vegas, as in "Reno,210,1.5 Vegas,715,0"

foreach {transfers rate delay buffer window tick duration} $argv {}

Agent/TCP set window_ $window
Agent/TCP set windowInit_ 1
Agent/TCP set tcpTick_ $tick
Agent/TCP set minrto_ [expr 2 * $tick]
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set packetSize_ 1434
Agent/TCP/Vegas set packetSize_ 1474

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb ${delay}ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left $buffer
set monitor [$ns monitor-queue $left $right [open /dev/null w]]

set flows [llength $transfers]
for {set i 0} {$i < $flows} {incr i} {
    foreach {kind packets start} [split [lindex $transfers $i] ,] {}
    set source($i) [$ns node]
    set target($i) [$ns node]
    foreach {a b} [list $source($i) $left $target($i) $right] {
        $ns duplex-link $a $b 10Mb 0ms DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    set tcp($i) [new Agent/TCP/$kind]
    set sink [new Agent/TCPSink]
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $target($i) $sink
    $ns connect $tcp($i) $sink
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    set last($i) [expr {$packets - ($kind eq "Vegas")}]
    $ns at $start "$ftp($i) produce $packets; watch $i"
}

# When the last packet is acknowledged, to the millisecond.
proc watch {i} {
    global ns tcp last
    if {[$tcp($i) set ack_] >= $last($i)} {
        puts "finished $i [$ns now]"
    } else {
        $ns at [expr [$ns now] + 0.001] "watch $i"
    }
}

proc finish {} {
    global tcp flows monitor
    puts "drops - [$monitor set pdrops_]"
    for {set i 0} {$i < $flows} {incr i} {
        puts "timeouts $i [$tcp($i) set nrexmit_]"
        puts "retransmitted $i [$tcp($i) set nrexmitpack_]"
    }
    exit 0
}
$ns at $duration finish
$ns run
