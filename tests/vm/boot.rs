//! Booting one shape under QEMU's software emulation, and waiting for its end.
//!
//! Emulation, since a ring that runs everywhere cannot count on virtualisation, and since what is
//! asserted is never a time. Must not know: what the lines of the serial port mean.

use crate::shape::Shape;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const QEMU: &str = "qemu-system-x86_64";

/// A boot takes 15 s on two idle CPUs, and its checks about a minute; whatever takes this long
/// hangs.
const PATIENCE: Duration = Duration::from_secs(420);

/// What all boots have in common.
pub struct Machine {
    pub kernel: PathBuf,
    pub initramfs: PathBuf,
    /// Where the files of the serial lines are left.
    pub dir: PathBuf,
}

/// All that came over the second serial line, and what went wrong with the machine itself.
pub struct Boot {
    pub text: String,
    pub fault: Option<String>,
    /// What came over the first, the kernel's console.
    pub console: PathBuf,
}

impl Machine {
    pub fn boot(&self, shape: &Shape) -> Boot {
        let console = self.dir.join(format!("{}.console", shape.name));
        let checks = self.dir.join(format!("{}.checks", shape.name));
        let _ = fs::remove_file(&checks);
        let mut child = self.start(shape, &console, &checks);
        let fault = wait(&mut child).map(|fault| format!("{}: {fault}", shape.name));
        let text = fs::read(&checks).unwrap_or_default();
        Boot { text: String::from_utf8_lossy(&text).into_owned(), fault, console }
    }

    fn start(&self, shape: &Shape, console: &Path, checks: &Path) -> Child {
        let console = File::create(console).unwrap();
        let mut command = Command::new(QEMU);
        command.args(["-accel", "tcg,thread=multi", "-cpu", "max"]);
        command.args(["-display", "none", "-vga", "none", "-net", "none", "-monitor", "none"]);
        command.args(["-no-reboot", "-serial", "stdio", "-serial"]);
        command.arg(format!("file:{}", checks.display()));
        command.args(shape.arguments());
        command.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.initramfs);
        // What the kernel does not know it hands to init, as environment.
        let told = format!("console=ttyS0 quiet panic=-1 SHAPE={}", shape.name);
        command.arg("-append").arg(format!("{told} {}", shape.kernel_arguments()));
        command.stdin(Stdio::null()).stderr(console.try_clone().unwrap()).stdout(console);
        command.spawn().unwrap()
    }
}

/// Waits for the guest to switch itself off; what is wrong if it does not.
fn wait(child: &mut Child) -> Option<String> {
    let since = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) if status.success() => return None,
            Some(status) => return Some(format!("{QEMU} ended with {status}")),
            None if since.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Some(format!("the guest was still running after {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}
