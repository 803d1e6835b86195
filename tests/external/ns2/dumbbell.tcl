# ns-2: flows of one kind over a dumbbell, drop-tail. Prints one line per counter: name, flow, value.
#
#   ns dumbbell.tcl kind flows rate(Mb/s) delay(ms) buffer duration access-rate(Mb/s)
#      access-delay(ms) stagger(s) initial-window
#
# kind: Tahoe, Reno, Newreno (impatient, ns-2's default), NewrenoSteady, Sack1, Vegas

foreach {kind flows rate delay buffer duration access near stagger initial} $argv {}

Agent/TCP set window_ 100000
Agent/TCP set windowInit_ $initial
Agent/TCP set packetSize_ 1000
if {$kind == "NewrenoSteady"} {
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCP/Newreno set partial_window_deflation_ 0
    set kind Newreno
}

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right ${rate}Mb ${delay}ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
set monitor [$ns monitor-queue $left $right [open /dev/null w]]

for {set i 0} {$i < $flows} {incr i} {
    set source($i) [$ns node]
    set target($i) [$ns node]
    foreach {a b} [list $source($i) $left $target($i) $right] {
        $ns duplex-link $a $b ${access}Mb ${near}ms DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    if {$kind == "Tahoe"} { set tcp($i) [new Agent/TCP] } else { set tcp($i) [new Agent/TCP/$kind] }
    if {$kind == "Sack1"} { set sink [new Agent/TCPSink/Sack1] } else { set sink [new Agent/TCPSink] }
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $target($i) $sink
    $ns connect $tcp($i) $sink
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr $stagger * $i] "$ftp($i) start"
}

proc finish {} {
    global tcp flows monitor
    puts "drops - [$monitor set pdrops_]"
    for {set i 0} {$i < $flows} {incr i} {
        puts "last $i [$tcp($i) set maxseq_]"
        puts "timeouts $i [$tcp($i) set nrexmit_]"
        puts "retransmitted $i [$tcp($i) set nrexmitpack_]"
    }
    exit 0
}
$ns at $duration finish
$ns run
