# ns-2: one flow of a Linux controller (Agent/TCP/Linux) over a dumbbell, drop-tail. Prints a line per
# 20 ms: time, cwnd, packets sent, packets sent again.
#
# With a share of packets that the link loses at random, and a seed, these too.
#
#   ns linux.tcl controller rate(Mb/s) delay(ms) buffer duration [loss seed]

foreach {controller rate delay buffer duration loss seed} $argv {}

Agent/TCP set window_ 100000
Agent/TCP set packetSize_ 1448
Agent/TCP set windowOption_ 8
Agent/TCP set timestamps_ true
Agent/TCPSink set ts_echo_rfc1323_ true

set ns [new Simulator]
foreach name {source left right target} { set $name [$ns node] }
foreach {a b} [list $source $left $right $target] {
    $ns duplex-link $a $b 1000Mb 0.5ms DropTail
    $ns queue-limit $a $b 100000
    $ns queue-limit $b $a 100000
}
$ns duplex-link $left $right ${rate}Mb ${delay}ms DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left 100000

if {$loss ne ""} {
    set generator [new RNG]
    $generator seed $seed
    set draw [new RandomVariable/Uniform]
    $draw use-rng $generator
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $loss
    $errors ranvar $draw
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $left $right
}

set tcp [new Agent/TCP/Linux]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $source $tcp
$ns attach-agent $target $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$tcp select_ca $controller"
$ns at 0 "$ftp start"

proc record {} {
    global ns tcp
    puts "[$ns now] [$tcp set cwnd_] [$tcp set ndatapack_] [$tcp set nrexmitpack_]"
    $ns at [expr [$ns now] + 0.02] record
}
$ns at 0.02 record
$ns at $duration "flush stdout; exit 0"
$ns run
