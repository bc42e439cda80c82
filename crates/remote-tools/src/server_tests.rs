use super::*;

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_question_that_cannot_be_sent_is_forgotten() {
    let server = Arc::new(ToolServer {
        tools: HashMap::new(),
        sessions: Arc::default(),
        protected: Arc::new(HostProtectedPaths::new(None, None)),
        output: Mutex::new(Box::new(ClosedPipe)),
        running: Mutex::default(),
        questions: Mutex::default(),
        next_question: AtomicU64::new(0),
    });
    let query =
        RemotePathQuery { server: Arc::clone(&server), id: 1, cancel: CancellationToken::new() };
    assert_eq!(query.query_closed(&Scope::FILE_READ, &["/a".into()]), None);
    assert!(server.questions.lock().is_empty());
}
