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

/// Everything that the emulation can do, under Intel's name: QEMU's own choice is an AMD processor
/// whose idle needs a timer beside the CPU's (arch/x86/kernel/process.c, amd_e400_idle, v6.1), and
/// some guests hang there; and on AMD's the kernel ends LLCs at the borders of nodes by itself
/// (arch/x86/kernel/cpu/cacheinfo.c, __cache_amd_cpumap_setup, v6.1).
const CPU: &str = "max,vendor=GenuineIntel";

/// Boot and checks take about a minute on two idle CPUs; whatever takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(600);

/// A kernel is in user space after about 5 s. One that is not by now has hung in the emulation
/// before anything of ours ran, and is started again.
const PATIENCE_KERNEL: Duration = Duration::from_secs(150);

const ATTEMPTS: u32 = 3;

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
        let mut fault = None;
        for _ in 0..ATTEMPTS {
            let _ = fs::remove_file(&checks);
            let mut child = self.start(shape, &console, &checks);
            fault = wait(&mut child, &checks).map(|fault| format!("{}: {fault}", shape.name));
            if fault.is_none() || !is_empty(&checks) {
                break;
            }
        }
        let text = fs::read(&checks).unwrap_or_default();
        Boot { text: String::from_utf8_lossy(&text).into_owned(), fault, console }
    }

    fn start(&self, shape: &Shape, console: &Path, checks: &Path) -> Child {
        let console = File::create(console).unwrap();
        let mut command = Command::new(QEMU);
        command.args(["-accel", "tcg,thread=multi", "-cpu", CPU]);
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

/// Whether nothing has come over the second serial line: nothing of ours has run.
fn is_empty(checks: &Path) -> bool {
    fs::metadata(checks).map_or(true, |file| file.len() == 0)
}

/// Waits for the guest to switch itself off; what is wrong if it does not.
fn wait(child: &mut Child, checks: &Path) -> Option<String> {
    let since = Instant::now();
    loop {
        let elapsed = since.elapsed();
        let fault = match child.try_wait().unwrap() {
            Some(status) if status.success() => return None,
            Some(status) => return Some(format!("{QEMU} ended with {status}")),
            None if elapsed > PATIENCE => "the guest hangs in its checks",
            None if elapsed > PATIENCE_KERNEL && is_empty(checks) => "the kernel hangs",
            None => {
                std::thread::sleep(Duration::from_millis(200));
                continue;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        return Some(format!("{fault}: it was ended after {} s", elapsed.as_secs()));
    }
}
