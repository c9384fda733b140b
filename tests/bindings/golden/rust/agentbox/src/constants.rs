// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! The constants of the C interface, by group.

/// `ABX_STATUS_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub i32);

impl Status {
    pub const OK: Status = Status(0);
    /// "quoted" words
    pub const ERR_INVALID: Status = Status(-1001);
    pub const ERR_STATE: Status = Status(-1003);
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Status::OK => f.write_str("OK"),
            Status::ERR_INVALID => f.write_str("ERR_INVALID"),
            Status::ERR_STATE => f.write_str("ERR_STATE"),
            Status(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_ACCESS_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u32);

impl Access {
    pub const READ: Access = Access(1);
    pub const WRITE: Access = Access(2);
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Access::READ => f.write_str("READ"),
            Access::WRITE => f.write_str("WRITE"),
            Access(value) => write!(f, "{value}"),
        }
    }
}

impl std::ops::BitOr for Access {
    type Output = Access;

    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

/// how it went out
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ExitReason(pub u32);

impl ExitReason {
    pub const BURNT: ExitReason = ExitReason(1);
}

impl std::fmt::Debug for ExitReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            ExitReason::BURNT => f.write_str("BURNT"),
            ExitReason(value) => write!(f, "{value}"),
        }
    }
}
