/* A stack in C: packets over a bottleneck of 10 Mb/s, 40 ms and 50 packets, through a controller's
 * glue (CC is the controller's prefix). Prints Mb/s, mean queueing delay (ms), and lost packets in
 * the second half of a minute. */
#include <math.h>
#include <stdio.h>

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define GLUE struct NAME(CC, _glue)
#define PACKET struct NAME(CC, _packet)
#include HEADER

enum { MANY = 1 << 16, BUFFER = 50, SIZE = 1000 };
static PACKET sent[MANY];
static double back[MANY]; /* us: when its ACK arrives; negative: dropped */

int main(void)
{
    GLUE glue;
    double now = 0.0, link = 0.0, pace = 0.0, in_flight = 0.0, end = 60e6, waits = 0.0;
    const double transmission = 8.0 * SIZE / 10.0, half = 20e3; /* us */
    long head = 0, tail = 0, delivered = 0, lost = 0;

    NAME(CC, _glue_init)(&glue, NULL, SIZE, 10.0 * SIZE);
    while (now < end) {
        int able = in_flight + SIZE <= NAME(CC, _window)(&glue) && head - tail < MANY;
        double next = tail < head ? fabs(back[tail % MANY]) : INFINITY;
        double wake = NAME(CC, _wake_us)(&glue);
        if (able && pace <= next && pace <= fmax(wake, now)) {
            double rate = NAME(CC, _pacing_rate)(&glue), arrives;
            now = fmax(now, pace);
            NAME(CC, _on_sent)(&glue, &sent[head % MANY], SIZE, 0, now);
            pace = isfinite(rate) && rate > 0.0 ? now + SIZE / rate * 1e6 : now;
            in_flight += SIZE;
            arrives = now + half;
            if (link - arrives > BUFFER * transmission) {
                back[head % MANY] = -(link + half); /* seen by the ACK of the next packet */
            } else {
                link = fmax(link, arrives) + transmission;
                back[head % MANY] = link + half;
            }
            head++;
        } else if (wake <= next && wake < end) {
            now = fmax(now, wake);
            NAME(CC, _on_wake)(&glue, now);
        } else {
            PACKET *packet = &sent[tail % MANY];
            if (!isfinite(next))
                return 1; /* nothing in flight and no window: a stall */
            now = fmax(now, next);
            in_flight -= SIZE;
            if (back[tail % MANY] < 0.0) {
                lost += now > end / 2;
                NAME(CC, _on_lost)(&glue, packet, now);
            } else {
                NAME(CC, _on_acked)(&glue, packet, 0, now);
                delivered += now > end / 2;
                waits += now > end / 2 ? now - packet->sent * 1e6 - 2 * half : 0.0;
            }
            pace = fmax(pace, now);
            tail++;
        }
    }
    printf("%f %f %ld\n", delivered * 8.0 * SIZE / (end / 2), waits / delivered / 1e3, lost);
    return 0;
}
