// Loaded into each test process before the test file. When the runner is killed outright, nobody is left to end the test
// processes it started; each of them notices that it has another parent now and ends, and its guard with it.
const runner = process.ppid;
setInterval(() => {
  if (process.ppid !== runner) process.exit(1);
}, 500).unref();
