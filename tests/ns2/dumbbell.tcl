# ns-2: flows over a dumbbell. Prints one line per counter: name, flow, value.
#
#   ns dumbbell.tcl kinds flows rate(Mb/s) delay(ms) buffer duration access-rate(Mb/s)
#      access-delay(ms) stagger(s) ?min-thresh max-thresh?
#
# kinds: Tahoe, Reno, Newreno (impatient, ns-2's default), NewrenoSteady, Sack1, Vegas; of one kind,
#     or several with commas between them, of which the flows take turns
# thresholds: the bottleneck's queue is RED in packets, with the defaults of ns-2.27 (else drop-tail);
#     then every event there is printed as well, in the format of a trace file, and the state of the
#     stream of random numbers at 0.01 s, after each agent has drawn the phase of its clock; its
#     ticks are short, so that this phase decides nothing

foreach {kinds flows rate delay buffer duration access near stagger low high} $argv {}
set kinds [split $kinds ,]

Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 1
Agent/TCP set packetSize_ 1000
if {[lsearch $kinds NewrenoSteady] >= 0} {
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCP/Newreno set partial_window_deflation_ 0
}

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
set queue DropTail
if {$low != ""} {
    set queue RED
    Agent/TCP set tcpTick_ 1e-5
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set thresh_ $low
    Queue/RED set maxthresh_ $high
}
$ns simplex-link $left $right ${rate}Mb ${delay}ms $queue
$ns simplex-link $right $left ${rate}Mb ${delay}ms DropTail
if {$low != ""} {
    $ns trace-queue $left $right stdout
    $ns at 0.01 {puts "stream [$defaultRNG all-seeds]"}
}
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
    set kind [lindex $kinds [expr $i % [llength $kinds]]]
    if {$kind == "NewrenoSteady"} { set kind Newreno }
    if {$kind == "Tahoe"} { set tcp($i) [new Agent/TCP] } else { set tcp($i) [new Agent/TCP/$kind] }
    if {$kind == "Sack1"} { set sink [new Agent/TCPSink/Sack1] } else { set sink [new Agent/TCPSink] }
    $ns attach-agent $source($i) $tcp($i)
    $ns attach-agent $target($i) $sink
    $ns connect $tcp($i) $sink
    $tcp($i) set fid_ $i
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
