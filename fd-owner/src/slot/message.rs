//! Messages of a socket whose records the kernel protects: what `sendmsg` and `recvmsg` need beside the bytes.
//!
//! In the slot lies a header before every record (content type, 3.3, length) and plaintext behind it. The kernel gets and
//! gives the plaintext alone; the content type goes beside it, as a control message.

use std::io;
use std::mem::{self, offset_of, size_of};
use std::ops::Range;
use std::ptr::NonNull;

use arenatls_engine::Direction;
use arenatls_engine::record::{APPLICATION_DATA, HEADER, MAX_PLAINTEXT};

use super::memory::Mapping;
use super::outbox::Outbox;
use super::{Port, Slab, update};
use crate::ulp::Layer;

/// Records of application data that leave in one message, at most.
const PIECES: usize = 32;
/// A reception has room for this much plaintext, at least; no alert is ever cut in two (bytes).
const LEAST_ROOM: usize = 1024;

// linux/tls.h
const TLS_SET_RECORD_TYPE: libc::c_int = 1;
const TLS_GET_RECORD_TYPE: libc::c_int = 2;

/// A control message of one byte.
#[repr(C)]
struct Control {
    head: libc::cmsghdr,
    record_type: u8,
}

// SAFETY: the macro as a function: it only reckons.
const CONTROL_SPACE: usize = unsafe { libc::CMSG_SPACE(1) } as usize;
// SAFETY: as above.
const CONTROL_LEN: usize = unsafe { libc::CMSG_LEN(1) } as usize;
const _: () = assert!(size_of::<Control>() == CONTROL_SPACE && offset_of!(Control, record_type) + 1 == CONTROL_LEN);

/// One message under way in each direction.
#[repr(C)]
struct Messages {
    sent: libc::msghdr,
    sent_pieces: [libc::iovec; PIECES],
    sent_type: Control,
    received: libc::msghdr,
    received_piece: libc::iovec,
    received_type: Control,
}

/// The messages of all slots of a driver, and the kernel's layer they are for.
#[derive(Debug)]
pub(super) struct KernelPart {
    messages: Mapping,
    layer: Layer,
}

/// A message that the kernel may have until its operation is complete, with the bytes it names. Made here only.
#[derive(Debug)]
pub(crate) struct Message {
    header: *mut libc::msghdr,
}

impl Message {
    pub(crate) fn pointer(&self) -> *mut libc::msghdr {
        self.header
    }
}

impl Slab {
    /// A slab whose slots have messages for `layer`.
    pub(crate) fn with_messages(self, layer: Layer) -> io::Result<Slab> {
        let messages = Mapping::new(self.slots.len() * size_of::<Messages>())?;
        Ok(Slab { kernel: Some(KernelPart { messages, layer }), ..self })
    }

    /// The kernel's layer, if keys are for it.
    pub(crate) fn layer(&self) -> Option<Layer> {
        self.kernel.as_ref().map(|kernel| kernel.layer)
    }

    /// Whether the kernel protects the records of `direction`.
    pub(crate) fn is_kernel(&self, slot: u32, direction: Direction) -> bool {
        self.state(slot).kernel[direction as usize].get()
    }

    /// From here on, it does.
    pub(crate) fn set_kernel(&self, slot: u32, direction: Direction) {
        self.state(slot).kernel[direction as usize].set(true);
    }

    /// Records for the kernel to protect and send, until [`message_sent`](Self::message_sent): application data, as much
    /// as goes in one message, or one control record.
    pub(crate) fn grant_message(&self, slot: u32) -> Option<Message> {
        let messages = self.messages(slot)?;
        let range = self.outbound(slot, &update(&self.state(slot).outbox, Outbox::grant)?);
        self.map.borrow_mut().grant(slot as usize, Port::Out, &range);
        let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
        let (mut n, mut at, mut first) = (0, 0, APPLICATION_DATA);
        while let Some((content_type, text)) = self.framed(&range, at) {
            let alone = n > 0 && (content_type, first) != (APPLICATION_DATA, APPLICATION_DATA);
            if n == PIECES || alone {
                break;
            }
            at = text.end - range.start;
            pieces[n] = libc::iovec { iov_base: self.memory.at(&text).as_ptr().cast(), iov_len: text.len() };
            (n, first) = (n + 1, if n == 0 { content_type } else { first });
        }
        if n == 0 {
            // Somebody has written to the backend what is no record; it leaves in no case.
            self.sent(slot, 0);
            self.sink_output(slot);
            return None;
        }
        Some(write_outgoing(messages, pieces, n, first))
    }

    /// The sending is complete and took `n` bytes of plaintext. What is left of a record becomes a record.
    pub(crate) fn message_sent(&self, slot: u32, n: usize) {
        let range = self.outbound(slot, &self.state(slot).outbox.get().granted());
        let (mut at, mut left) = (0, n);
        while left > 0
            && let Some((content_type, text)) = self.framed(&range, at)
        {
            if left < text.len() {
                // A header's place is behind us by now: at least a header and a byte have left.
                let rest = text.start + left;
                self.write_header(&(rest - HEADER..rest), content_type, text.len() - left);
                at = rest - HEADER - range.start;
                break;
            }
            left -= text.len();
            at = text.end - range.start;
        }
        self.sent(slot, at);
    }

    /// Room for the kernel to open records into, until [`message_received`](Self::message_received).
    pub(crate) fn grant_record(&self, slot: u32) -> Option<Message> {
        let messages = self.messages(slot)?;
        let within = HEADER + LEAST_ROOM..=HEADER + MAX_PLAINTEXT;
        let range = update(&self.state(slot).inbox, |inbox| inbox.grant_within(within))?;
        let range = self.inbound(slot, &range);
        self.map.borrow_mut().grant(slot as usize, Port::In, &range);
        let text = self.memory.at(&(range.start + HEADER..range.end));
        Some(write_incoming(messages, text))
    }

    /// The reception is complete and brought `n` bytes of plaintext. Their content type; nothing if it is the end.
    pub(crate) fn message_received(&self, slot: u32, n: usize) -> Option<u8> {
        let range = self.inbound(slot, &self.state(slot).inbox.get().granted());
        let told = self.messages(slot).and_then(read_type);
        let content_type = match (told, n) {
            (Some(content_type), _) => content_type,
            (None, 0) => {
                self.received(slot, 0);
                return None;
            }
            // Only what is no application data has to be told.
            (None, _) => APPLICATION_DATA,
        };
        self.write_header(&(range.start..range.start + HEADER), content_type, n);
        self.received(slot, HEADER + n);
        Some(content_type)
    }

    fn messages(&self, slot: u32) -> Option<*mut Messages> {
        let start = slot as usize * size_of::<Messages>();
        let kernel = self.kernel.as_ref()?;
        Some(kernel.messages.at(&(start..start + size_of::<Messages>())).as_ptr().cast())
    }

    /// Content type of the record that begins `at` bytes into `range`, which is granted, and where its plaintext lies.
    fn framed(&self, range: &Range<usize>, at: usize) -> Option<(u8, Range<usize>)> {
        let start = range.start + at + HEADER;
        let head = if start <= range.end { self.memory.at(&(start - HEADER..start)) } else { return None };
        // SAFETY: `HEADER` initialised bytes of the mapping; granted, so that no reference to them exists (R2), and the
        // kernel only reads.
        let [content_type, _, _, high, low] = unsafe { head.cast::<[u8; HEADER]>().read() };
        let text = start..start + usize::from(u16::from_be_bytes([high, low]));
        (text.end <= range.end).then_some((content_type, text))
    }

    /// Lays a header over bytes that are granted, to an operation that is complete.
    fn write_header(&self, place: &Range<usize>, content_type: u8, len: usize) {
        let [high, low] = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
        let head = self.memory.at(place).cast::<[u8; HEADER]>();
        // SAFETY: `HEADER` bytes of the mapping; still granted, so that no reference to them exists, and the operation
        // they were granted to is complete (R2).
        unsafe { head.write([content_type, 3, 3, high, low]) };
    }
}

fn fit<T: TryFrom<usize> + Default>(n: usize) -> T {
    T::try_from(n).unwrap_or_default()
}

fn no_header() -> libc::msghdr {
    // SAFETY: integers and pointers, for all of which zero is a value.
    unsafe { mem::zeroed() }
}

/// Writes the message of `n` pieces.
fn write_outgoing(to: *mut Messages, pieces: [libc::iovec; PIECES], n: usize, content_type: u8) -> Message {
    let at = |offset: usize| to.cast::<u8>().wrapping_add(offset);
    let mut header = no_header();
    header.msg_iov = at(offset_of!(Messages, sent_pieces)).cast();
    header.msg_iovlen = fit(n);
    if content_type != APPLICATION_DATA {
        header.msg_control = at(offset_of!(Messages, sent_type)).cast();
        header.msg_controllen = fit(CONTROL_SPACE);
    }
    let head = libc::cmsghdr { cmsg_len: fit(CONTROL_LEN), cmsg_level: libc::SOL_TLS, cmsg_type: TLS_SET_RECORD_TYPE };
    let sent_type = Control { head, record_type: content_type };
    // SAFETY: a slot's messages, aligned and live; no sending of the slot is under way, so that the kernel has none of
    // these three fields, and no reference to them is ever made (R7).
    unsafe { at(offset_of!(Messages, sent_pieces)).cast::<[libc::iovec; PIECES]>().write(pieces) };
    // SAFETY: as above.
    unsafe { at(offset_of!(Messages, sent_type)).cast::<Control>().write(sent_type) };
    let place = at(offset_of!(Messages, sent)).cast::<libc::msghdr>();
    // SAFETY: as above.
    unsafe { place.write(header) };
    Message { header: place }
}

/// Writes the message that asks for a record into `text`.
fn write_incoming(to: *mut Messages, text: NonNull<[u8]>) -> Message {
    let at = |offset: usize| to.cast::<u8>().wrapping_add(offset);
    let mut header = no_header();
    header.msg_iov = at(offset_of!(Messages, received_piece)).cast();
    header.msg_iovlen = fit(1);
    header.msg_control = at(offset_of!(Messages, received_type)).cast();
    header.msg_controllen = fit(CONTROL_SPACE);
    let piece = libc::iovec { iov_base: text.as_ptr().cast(), iov_len: text.len() };
    // SAFETY: a slot's messages, aligned and live; no reception of the slot is under way, so that the kernel has neither
    // of these fields, and no reference to them is ever made (R7).
    unsafe { at(offset_of!(Messages, received_piece)).cast::<libc::iovec>().write(piece) };
    let place = at(offset_of!(Messages, received)).cast::<libc::msghdr>();
    // SAFETY: as above.
    unsafe { place.write(header) };
    Message { header: place }
}

/// The content type that came with a reception.
fn read_type(from: *mut Messages) -> Option<u8> {
    let at = |offset: usize| from.cast::<u8>().wrapping_add(offset);
    // SAFETY: a slot's messages, aligned, live and initialised (zeroed at least), whose reception is complete (R7).
    let header = unsafe { at(offset_of!(Messages, received)).cast::<libc::msghdr>().read() };
    // SAFETY: as above.
    let control = unsafe { at(offset_of!(Messages, received_type)).cast::<Control>().read() };
    let head = control.head;
    let told = header.msg_controllen >= fit(CONTROL_LEN)
        && (head.cmsg_level, head.cmsg_type) == (libc::SOL_TLS, TLS_GET_RECORD_TYPE);
    told.then_some(control.record_type)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use arenatls_engine::Backend as _;
    use proptest::prelude::*;

    use super::*;
    use crate::slot::FdBackend;

    fn lent(layer: Layer) -> (Rc<Slab>, u32, FdBackend) {
        let slab = Slab::new(2, 20_000, 20_000).unwrap().with_messages(layer).unwrap();
        let slab = Rc::new(slab);
        assert_eq!(slab.layer(), Some(layer));
        let (slot, backend) = slab.lend().unwrap();
        (slab, slot, backend)
    }

    const LAYER: Layer = Layer { rekeys: false };

    fn commit(backend: &mut FdBackend, content_type: u8, text: &[u8]) -> bool {
        let record = [&[content_type, 3, 3], &u16::try_from(text.len()).unwrap().to_be_bytes()[..], text].concat();
        let room = backend.room(record.len());
        if room.is_empty() {
            return false;
        }
        room[..record.len()].copy_from_slice(&record);
        backend.commit(record.len());
        true
    }

    /// What a kernel reads of a message: the content type that is not application data, and the bytes.
    fn read(message: &Message) -> (Option<u8>, Vec<Vec<u8>>) {
        // SAFETY: what was granted, read on the thread that granted it.
        let header = unsafe { message.pointer().read() };
        let content_type = (header.msg_controllen > 0).then(|| {
            // SAFETY: as above; the control message is one byte long.
            let control = unsafe { header.msg_control.cast::<Control>().read() };
            assert_eq!((control.head.cmsg_level, control.head.cmsg_type), (libc::SOL_TLS, TLS_SET_RECORD_TYPE));
            assert!(control.head.cmsg_len == fit(CONTROL_LEN));
            control.record_type
        });
        let pieces = (0..header.msg_iovlen).map(|i| {
            // SAFETY: as above; there are so many pieces.
            let piece = unsafe { header.msg_iov.wrapping_add(i).read() };
            // SAFETY: as above; the piece is granted memory of this length.
            unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) }.to_vec()
        });
        (content_type, pieces.collect())
    }

    /// What is for the kernel to protect is plaintext.
    #[test]
    fn outbound_memory_that_held_plaintext_is_put_back_zeroed() {
        let (slab, slot, mut backend) = lent(LAYER);
        for on_its_own in [true, false] {
            slab.set_kernel(slot, Direction::Send);
            assert!(backend.room(11)[..11].iter().all(|byte| *byte == 0));
            assert!(commit(&mut backend, 23, b"secret"));
            if on_its_own {
                slab.grant_message(slot).unwrap();
                slab.message_sent(slot, 6);
                backend.let_go();
            }
        }
        drop(backend);
        slab.release(slot);
        let (_, mut backend) = slab.lend().unwrap();
        assert!(backend.room(11)[..11].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn r7_a_message_is_as_many_records_of_data_as_fit_or_one_other() {
        let (slab, slot, mut backend) = lent(LAYER);
        assert!(slab.grant_message(slot).is_none(), "nothing to send");
        for k in 0..40 {
            assert!(commit(&mut backend, 23, &[k; 7]));
        }
        assert!(commit(&mut backend, 22, b"message"));
        assert!(commit(&mut backend, 21, b"\x01\x00"));
        for (first, len) in [(0_u8, 32_u8), (32, 8)] {
            let (content_type, pieces) = read(&slab.grant_message(slot).unwrap());
            assert_eq!((content_type, pieces), (None, (first..first + len).map(|k| vec![k; 7]).collect()));
            slab.message_sent(slot, usize::from(len) * 7);
        }
        for (content_type, text) in [(22, &b"message"[..]), (21, b"\x01\x00")] {
            assert_eq!(read(&slab.grant_message(slot).unwrap()), (Some(content_type), vec![text.to_vec()]));
            slab.message_sent(slot, text.len());
        }
        assert_eq!(slab.unsent(slot), 0);
        drop(backend);
        slab.release(slot);
    }

    #[test]
    fn what_is_no_record_is_never_sent() {
        let (slab, slot, mut backend) = lent(LAYER);
        backend.room(100)[..7].copy_from_slice(b"\x17\x03\x03\xff\xffxx");
        backend.commit(7);
        assert!(slab.grant_message(slot).is_none());
        assert!(backend.output_is_lost());
        drop(backend);
        slab.release(slot);
    }

    /// As a kernel does: `text` where the message says, and its type beside it.
    fn receive(message: &Message, text: &[u8], content_type: Option<u8>) {
        // SAFETY: granted, and used on the thread that granted it.
        let mut header = unsafe { message.pointer().read() };
        // SAFETY: as above.
        let piece = unsafe { header.msg_iov.read() };
        assert!(text.len() <= piece.iov_len && piece.iov_len <= MAX_PLAINTEXT);
        // SAFETY: granted memory of at least that length.
        unsafe { piece.iov_base.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        if let Some(record_type) = content_type {
            let head =
                libc::cmsghdr { cmsg_len: fit(CONTROL_LEN), cmsg_level: libc::SOL_TLS, cmsg_type: TLS_GET_RECORD_TYPE };
            // SAFETY: as above; there is room for one byte of control message.
            unsafe { header.msg_control.cast::<Control>().write(Control { head, record_type }) };
        }
        header.msg_controllen = fit(if content_type.is_some() { CONTROL_SPACE } else { 0 });
        // SAFETY: as above.
        unsafe { message.pointer().write(header) };
    }

    #[test]
    fn r7_what_is_received_lies_behind_a_header_with_the_type_the_kernel_told() {
        let (slab, slot, mut backend) = lent(LAYER);
        for (text, told, seen) in
            [(&b"data"[..], Some(23), 23), (b"\x01\x00", Some(21), 21), (b"old", None, 23), (b"", Some(22), 22)]
        {
            receive(&slab.grant_record(slot).unwrap(), text, told);
            assert_eq!(slab.message_received(slot, text.len()), Some(seen));
            let len = u16::try_from(text.len()).unwrap().to_be_bytes();
            assert_eq!(backend.input(), [&[seen, 3, 3], &len[..], text].concat());
            backend.consume(HEADER + text.len());
        }
        receive(&slab.grant_record(slot).unwrap(), b"", None);
        assert_eq!(slab.message_received(slot, 0), None, "the end");
        assert!(backend.input().is_empty());
        drop(backend);
        slab.release(slot);
    }

    #[test]
    fn records_are_received_only_where_no_alert_is_cut_in_two() {
        let (slab, slot, mut backend) = lent(LAYER);
        receive(&slab.grant_record(slot).unwrap(), &[7; MAX_PLAINTEXT], Some(23));
        slab.message_received(slot, MAX_PLAINTEXT);
        let left = 20_000 - HEADER - MAX_PLAINTEXT;
        receive(&slab.grant_record(slot).unwrap(), &[7; 2000], Some(23));
        slab.message_received(slot, 2000);
        assert!(left - HEADER - 2000 > LEAST_ROOM);
        receive(&slab.grant_record(slot).unwrap(), &[7; 600], Some(23));
        slab.message_received(slot, 600);
        assert!(slab.grant_record(slot).is_none(), "too little room");
        let all = backend.input().len();
        backend.consume(all);
        receive(&slab.grant_record(slot).unwrap(), &[7; MAX_PLAINTEXT], Some(23));
        slab.message_received(slot, MAX_PLAINTEXT);
        drop(backend);
        slab.release(slot);
    }

    proptest! {
        /// However little a socket takes at a time, it gets every byte once, in order, under its content type.
        #[test]
        fn short_sends_lose_nothing(steps in prop::collection::vec((21u8..=23, 1usize..4000, 0usize..6000), 1..60)) {
            let (slab, slot, mut backend) = lent(LAYER);
            let (mut given, mut taken) = (Vec::new(), Vec::new());
            let send = |most: usize, taken: &mut Vec<(u8, u8)>| {
                let Some(message) = slab.grant_message(slot) else { return false };
                let (content_type, pieces) = read(&message);
                let all = pieces.concat();
                let n = most.min(all.len());
                taken.extend(all[..n].iter().map(|byte| (content_type.unwrap_or(23), *byte)));
                slab.message_sent(slot, n);
                true
            };
            for (k, (content_type, len, most)) in steps.into_iter().enumerate() {
                let text: Vec<u8> = (0..len).map(|i| u8::try_from((i * 7 + k) % 251).unwrap()).collect();
                if commit(&mut backend, content_type, &text) {
                    given.extend(text.iter().map(|byte| (content_type, *byte)));
                }
                send(most, &mut taken);
            }
            while send(1000, &mut taken) {}
            prop_assert_eq!(slab.unsent(slot), 0);
            prop_assert!(given == taken, "{} bytes given, {} taken", given.len(), taken.len());
            drop(backend);
            slab.release(slot);
        }
    }
}
