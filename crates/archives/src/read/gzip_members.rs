//! Gzip: consecutive members, and nothing but padding after the last.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// First byte of a member.
const GZIP_MAGIC_BYTE: u8 = 0x1F;

/// Content of all members.
#[derive(Debug)]
pub(super) struct GzipMembers<R> {
    /// `None` once everything is read.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(source: R) -> Self {
        Self { member: Some(GzDecoder::new(source)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            let Some(done) = self.member.take() else { break };
            let mut source = done.into_inner();
            self.member = has_next_member(&mut source)?.then(|| GzDecoder::new(source));
        }
        Ok(0)
    }
}

/// Whether another member follows. Zeros are padding, as from a tape.
fn has_next_member(source: &mut impl BufRead) -> io::Result<bool> {
    let mut is_padded = false;
    loop {
        let rest = source.fill_buf()?;
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        match rest.get(zeros) {
            _ if rest.is_empty() => return Ok(false),
            None => {}
            Some(&GZIP_MAGIC_BYTE) if !is_padded && zeros == 0 => return Ok(true),
            Some(_) => {
                let why = "there is trailing data after its end that is not gzip";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
        is_padded = true;
        source.consume(zeros);
    }
}
