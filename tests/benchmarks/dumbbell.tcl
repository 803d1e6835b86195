# The dumbbell of tcpcc/apps/bench/speed.py in ns-2, for a comparison of speed in the same run.
#
#   ns dumbbell.tcl <rate, bit/s> <flows> <buffer, packets> <duration, s>
#
# Prints the number of data packets that arrived at the receivers.

lassign $argv rate flows buffer duration

Agent/TCP set window_ 100000
Agent/TCP set packetSize_ 960 ;# 1000 bytes on the wire

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate 18ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
for {set i 0} {$i < $flows} {incr i} {
    set source [$ns node]
    set target [$ns node]
    foreach {a b} [list $source $left $right $target] {
        $ns duplex-link $a $b 1Gb 1ms DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    set sender [new Agent/TCP/Newreno]
    set sink($i) [new Agent/TCPSink]
    $ns attach-agent $source $sender
    $ns attach-agent $target $sink($i)
    $ns connect $sender $sink($i)
    set ftp [new Application/FTP]
    $ftp attach-agent $sender
    $ns at [expr 0.1 * $i] "$ftp start"
}
set monitor [$ns monitor-queue $left $right ""]
$ns at $duration "puts \[$monitor set pdepartures_\]; exit 0"
$ns run
