// A Rust stack's congestion controller in the shape of quinn's trait, on the exported rules of Vegas.
use std::collections::VecDeque;

#[repr(C)]
#[derive(Clone, Copy)]
struct Packet {
    told: [f64; 9],
}

extern "C" {
    fn vegas_glue_size() -> usize;
    fn vegas_glue_init(glue: *mut f64, params: *const f64, size: f64, window: f64);
    fn vegas_on_sent(glue: *mut f64, packet: *mut Packet, bytes: f64, limited: i32, now: f64);
    fn vegas_on_acked(glue: *mut f64, packet: *const Packet, ce: i32, now: f64);
    fn vegas_on_lost(glue: *mut f64, packet: *const Packet, now: f64);
    fn vegas_window(glue: *const f64) -> f64;
}

pub trait Controller {
    fn on_sent(&mut self, now_us: f64, bytes: u64, last_packet_number: u64);
    fn on_ack(&mut self, now_us: f64, packet_number: u64);
    fn on_congestion_event(&mut self, now_us: f64, packet_number: u64);
    fn window(&self) -> u64;
}

pub struct Vegas {
    glue: Vec<f64>, // of the size that C says, aligned for doubles
    in_flight: VecDeque<(u64, Packet)>,
}

impl Vegas {
    pub fn new(size: u64) -> Self {
        let bytes = unsafe { vegas_glue_size() };
        let mut glue = vec![0.0; (bytes + 7) / 8];
        unsafe { vegas_glue_init(glue.as_mut_ptr(), std::ptr::null(), size as f64, 10.0 * size as f64) };
        Vegas { glue, in_flight: VecDeque::new() }
    }

    fn take(&mut self, number: u64) -> Option<Packet> {
        let place = self.in_flight.iter().position(|(n, _)| *n == number)?;
        self.in_flight.remove(place).map(|(_, packet)| packet)
    }
}

impl Controller for Vegas {
    fn on_sent(&mut self, now_us: f64, bytes: u64, number: u64) {
        let mut packet = Packet { told: [0.0; 9] };
        unsafe { vegas_on_sent(self.glue.as_mut_ptr(), &mut packet, bytes as f64, 0, now_us) };
        self.in_flight.push_back((number, packet));
    }

    fn on_ack(&mut self, now_us: f64, number: u64) {
        if let Some(packet) = self.take(number) {
            unsafe { vegas_on_acked(self.glue.as_mut_ptr(), &packet, 0, now_us) };
        }
    }

    fn on_congestion_event(&mut self, now_us: f64, number: u64) {
        if let Some(packet) = self.take(number) {
            unsafe { vegas_on_lost(self.glue.as_mut_ptr(), &packet, now_us) };
        }
    }

    fn window(&self) -> u64 {
        unsafe { vegas_window(self.glue.as_ptr()) as u64 }
    }
}

fn main() {
    // 10 Mb/s and 40 ms: a BDP of 50 packets of 1000 bytes.
    let (mut controller, mut now, mut link) = (Vegas::new(1000), 0.0f64, 0.0f64);
    let mut acks: VecDeque<(u64, f64)> = VecDeque::new();
    let mut number = 0;
    while now < 30e6 {
        while ((acks.len() + 1) * 1000) as u64 <= controller.window() {
            controller.on_sent(now, 1000, number);
            link = link.max(now + 20e3) + 800.0;
            acks.push_back((number, link + 20e3));
            number += 1;
        }
        let (acked, at) = acks.pop_front().unwrap();
        now = at;
        controller.on_ack(now, acked);
    }
    let before = controller.window();
    controller.on_congestion_event(now, acks[0].0);
    println!("{} {} {}", before / 1000, controller.window() / 1000, number);
}
