//! A random schedule of exchanges, by a seed: `SWAP_SEED=7 cargo test --test ring_swap` replays one. Everything happens in
//! one thread, so that nothing but the kernel's timing differs from run to run.

use std::net::TcpStream;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use arenatls::{ArenaPool, Backend, Budget, Connection, Event, Progress, Received};
use arenatls_fd_owner::{Config, ConnectionId, DriverEvent};
use arenatls_rig::mode::{Mode, for_each_mode, smallest_pool, usual_pool};
use arenatls_rig::pair::{Conn, Seen, events, plaintext};
use arenatls_rig::random::Random;
use arenatls_rig::ring::{WATCHDOG, pattern, small_send_buffer};

use crate::world::{World, hear_the_end, pump_some, stream};

/// Exchanges of one run.
const EXCHANGES: usize = 60;

/// What one end says, and has heard: the same code for every backend.
#[derive(Default)]
struct Speaker {
    said: usize,
    heard: usize,
}

impl Speaker {
    fn say<B: Backend>(&mut self, connection: &mut Connection<B>, random: &mut Random) {
        let most = [100, 20_000][random.next(2)];
        let piece = pattern(self.said, random.next(most));
        if let Progress::Done(n) = connection.write(&piece).unwrap() {
            self.said += n;
        }
    }

    /// Hears some of it; the rest is left where it lies.
    fn hear(&mut self, bytes: Received<'_>, random: &mut Random) {
        let n = if random.once_in(2) { bytes.len() } else { random.next(bytes.len() + 1) };
        assert!(bytes[..n] == pattern(self.heard, n), "bytes {}..{} are wrong", self.heard, self.heard + n);
        bytes.consume(n);
        self.heard += n;
    }

    fn hear_events(&mut self, conn: &mut Conn, random: &mut Random) {
        if let Some(Event::Plaintext(bytes)) = conn.poll_event().unwrap() {
            self.hear(bytes, random);
        }
    }
}

/// Where the connection is.
enum Home {
    Memory(Box<Conn>, TcpStream),
    Ring { id: ConnectionId, told: bool },
    Leaving(ConnectionId),
    Left(ConnectionId),
}

struct Run {
    random: Random,
    world: World,
    home: Option<Home>,
    here: Speaker,
    there: Speaker,
    exchanges: usize,
    refused: usize,
}

impl Run {
    fn step(&mut self) {
        let (random, world) = (&mut self.random, &mut self.world);
        let quota = [50, 3000, 40_000][random.next(3)];
        match random.next(10) {
            0 | 1 => self.there.say(&mut world.peer, random),
            2 | 3 => drop(pump_some(&mut world.peer, &mut world.line, quota)),
            4 | 5 => self.there.hear_events(&mut world.peer, random),
            6 if world.peer.ssl().version_str() == "TLSv1.3" && random.once_in(10) => {
                let _ = world.peer.key_update(random.once_in(2)).unwrap();
            }
            6 | 7 => self.turn(),
            8 => self.speak(quota),
            _ => self.exchange(),
        }
    }

    fn turn(&mut self) {
        while let Some(event) = self.world.driver.poll_event().unwrap() {
            match (event, &mut self.home) {
                (DriverEvent::Plaintext(_), Some(Home::Ring { told, .. })) => *told = true,
                (DriverEvent::Writable(_), Some(Home::Ring { .. })) => {}
                (DriverEvent::Detached(id), home) => *home = Some(Home::Left(id)),
                (other, _) => panic!("{other:?}"),
            }
        }
        self.world.driver.turn(Some(Duration::ZERO)).unwrap();
    }

    fn speak(&mut self, quota: usize) {
        let random = &mut self.random;
        match &mut self.home {
            Some(Home::Memory(conn, socket)) => {
                // So much that a slot would never have room for it is not said.
                if conn.backend().unsent() < 15_000 {
                    self.here.say(conn, random);
                }
                pump_some(conn, socket, quota);
                self.here.hear_events(conn, random);
                if conn.state().can_write() && random.once_in(20) && conn.ssl().version_str() == "TLSv1.3" {
                    let _ = conn.key_update(random.once_in(2)).unwrap();
                }
            }
            Some(Home::Ring { id, told }) => {
                self.here.say(self.world.driver.connection(*id).unwrap(), random);
                if *told && let Some(bytes) = self.world.driver.plaintext(*id) {
                    *told = false;
                    self.here.hear(bytes, random);
                }
            }
            Some(Home::Leaving(id) | Home::Left(id)) => assert!(self.world.driver.connection(*id).is_none()),
            None => unreachable!("it is somewhere"),
        }
    }

    /// The next step of the way from one backend to another. What does not fit tries again later.
    fn exchange(&mut self) {
        let driver = &mut self.world.driver;
        static LARGE: LazyLock<ArenaPool> = LazyLock::new(|| ArenaPool::new(Budget::bytes(200_000)));
        let pool = [smallest_pool(), usual_pool(), &*LARGE][self.random.next(3)];
        self.home = Some(match self.home.take().unwrap() {
            Home::Memory(conn, socket) => match driver.adopt_connection(socket.into(), *conn) {
                Ok(id) => {
                    self.exchanges += 1;
                    Home::Ring { id, told: false }
                }
                Err(back) => {
                    self.refused += 1;
                    Home::Memory(Box::new(back.connection), stream(back.socket))
                }
            },
            Home::Ring { id, .. } => {
                driver.detach(id).unwrap();
                Home::Leaving(id)
            }
            Home::Leaving(id) => Home::Leaving(id),
            Home::Left(id) => match driver.take_detached(id, pool.backend().unwrap()) {
                Ok((socket, conn)) => {
                    self.exchanges += 1;
                    Home::Memory(Box::new(conn), stream(socket))
                }
                Err(_) => {
                    self.refused += 1;
                    Home::Left(id)
                }
            },
        });
    }

    fn is_over(&self) -> bool {
        self.exchanges >= EXCHANGES && matches!(self.home, Some(Home::Memory(..)))
    }

    /// Both sides say all they have said, and hear it; then they end.
    fn finish(mut self, seed: u64) {
        let Some(Home::Memory(mut conn, mut socket)) = self.home.take() else { panic!("it is in memory") };
        assert!(self.world.is_empty(), "seed {seed}: {:?}", self.world.driver);
        let end = Instant::now() + WATCHDOG;
        while (self.here.heard, self.there.heard) != (self.there.said, self.here.said) {
            pump_some(&mut conn, &mut socket, usize::MAX);
            pump_some(&mut self.world.peer, &mut self.world.line, usize::MAX);
            for (speaker, conn) in [(&mut self.here, &mut *conn), (&mut self.there, &mut self.world.peer)] {
                let bytes = plaintext(&events(conn).unwrap());
                assert!(bytes == pattern(speaker.heard, bytes.len()), "seed {seed}");
                speaker.heard += bytes.len();
            }
            assert!(Instant::now() < end, "seed {seed}: {conn:?} {:?}", self.world.peer);
        }
        println!(
            "seed {seed}: {} exchanges, {} refused; {} bytes there, {} back",
            self.exchanges, self.refused, self.there.said, self.here.said
        );
        assert!(self.there.said.min(self.here.said) > 10_000, "seed {seed}");
        self.world.until(|world| {
            (world.peer.close().unwrap().done()).or_else(|| {
                pump_some(&mut world.peer, &mut world.line, usize::MAX);
                None
            })
        });
        while pump_some(&mut self.world.peer, &mut self.world.line, usize::MAX) > 0 {}
        assert_eq!(hear_the_end(&mut conn, &mut socket), [Seen::PeerClosed]);
        drop(self.world);
        assert_eq!(arenatls_fd_owner::leaked_rings(), 0);
    }
}

fn run(seed: u64, mode: &Mode) {
    // The ring has as little memory as there may be, or more than either pool's.
    let memory = if seed.is_multiple_of(2) { Config::LEAST_MEMORY } else { (80_000, 80_000) };
    let config = Config::default().connections(1).queues(4, 8).memory(memory.0, memory.1);
    let config = config.register_after(u32::try_from(seed % 2).ok());
    let Some((world, conn, socket)) = World::with(mode, config) else { return };
    if seed.is_multiple_of(3) {
        small_send_buffer(&socket, 4096);
    }
    let mut run = Run {
        random: Random::new(seed),
        world,
        home: Some(Home::Memory(Box::new(conn), socket)),
        here: Speaker::default(),
        there: Speaker::default(),
        exchanges: 0,
        refused: 0,
    };
    let end = Instant::now() + WATCHDOG;
    while !run.is_over() {
        run.step();
        assert!(Instant::now() < end, "seed {seed}: it does not end: {:?}", run.world.driver);
    }
    run.finish(seed);
}

#[test]
fn a_random_schedule_of_exchanges_loses_no_byte_and_no_slot() {
    let seeds = std::env::var("SWAP_SEED").ok().and_then(|seed| seed.parse().ok()).map_or(1..=6, |seed| seed..=seed);
    for_each_mode(|mode| seeds.clone().for_each(|seed| run(seed, mode)));
}
