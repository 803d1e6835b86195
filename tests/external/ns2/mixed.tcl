# ns-2: Vegas and Reno flows that start together on one dumbbell, with any queue and the settings
# of ns-2.27 that the thesis must have used. Prints "name flow value" lines, and "drop time flow seq"
# for each packet dropped at the bottleneck. Vegas' windows go into the file trace.windows.
#
#   ns mixed.tcl kinds rate(Mb/s) delay(ms) buffer access-rate(Mb/s) access-delay(ms) duration trace
#      [queue [setting value] ...]
#
# kinds: a letter for each flow, V or R, as in VVR

foreach {kinds rate delay buffer access near duration trace queue} [lrange $argv 0 8] {}
if {$queue == ""} { set queue DropTail }

Agent/TCP set window_ 10000
Agent/TCP set windowInit_ 2
Agent/TCP set packetSize_ 1000
Agent/TCP set minrto_ 1.0
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set precisionReduce_ 0
Agent/TCP set updated_rttvar_ 0
Agent/TCP set singledup_ 1
Agent/TCP/Vegas set delay_growth_ 0
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set gentle_ true
Queue/RED set mean_pktsize_ 500
foreach {setting value} [lrange $argv 9 end] { Queue/$queue set $setting $value }

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right ${rate}Mb ${delay}ms $queue
$ns simplex-link $right $left ${rate}Mb ${delay}ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000
set monitor [$ns monitor-queue $left $right [open /dev/null w]]
$ns trace-queue $left $right [open $trace w]

set flows [string length $kinds]
set windows [open $trace.windows w]
for {set i 0} {$i < $flows} {incr i} {
    set source($i) [$ns node]
    set target($i) [$ns node]
    foreach {a b} [list $source($i) $left $target($i) $right] {
        $ns duplex-link $a $b ${access}Mb ${near}ms DropTail
        $ns queue-limit $a $b 100000
        $ns queue-limit $b $a 100000
    }
    array set agent {V Vegas R Reno}
    set tcp($i) [new Agent/TCP/$agent([string index $kinds $i])]
    set sink [new Agent/TCPSink]
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $target($i) $sink
    $ns connect $tcp($i) $sink
    $tcp($i) set fid_ $i
    if {[string index $kinds $i] == "V"} {
        $tcp($i) trace cwnd_
        $tcp($i) attach $windows
    }
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at 0 "$ftp($i) start"
}

proc finish {} {
    global tcp flows monitor
    puts "arrivals - [$monitor set parrivals_]"
    puts "drops - [$monitor set pdrops_]"
    for {set i 0} {$i < $flows} {incr i} {
        puts "last $i [$tcp($i) set maxseq_]"
        puts "timeouts $i [$tcp($i) set nrexmit_]"
    }
    exit 0
}
$ns at $duration finish
$ns run
