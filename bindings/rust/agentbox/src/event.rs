// SPDX-License-Identifier: Apache-2.0
use crate::constants::{Access, Class, EventType, ExitReason, Field, Layer, RequestKind, Retry, Scope, Verdict};
use crate::error::Result;
use crate::raw::{self, handle};
use agentbox_sys as sys;

handle! {
    /// Something that happened; docs/events.md says what each field means.
    Event, abx_event, abx_event_unref, [Send, Sync]
}

/// Accessors: those of numbers are 0, those of texts None where the event has no such field.
macro_rules! fields {
    ($($name:ident: $field:ident => $kind:ident),* $(,)?) => {
        impl Event {
            $(fields!(@one $name, $field, $kind);)*
        }
    };
    (@one $name:ident, $field:ident, text) => {
        pub fn $name(&self) -> Option<String> {
            self.string(Field::$field)
        }
    };
    (@one $name:ident, $field:ident, number) => {
        pub fn $name(&self) -> i64 {
            self.number(Field::$field)
        }
    };
    (@one $name:ident, $field:ident, $kind:ident) => {
        pub fn $name(&self) -> $kind {
            $kind(self.number(Field::$field) as u32)
        }
    };
}

fields! {
    sequence: SEQUENCE => number,
    time_ns: TIME_NS => number,
    box_id: BOX => number,
    process_id: PROCESS => number,
    label: LABEL => text,
    pid: PID => number,
    program: PROGRAM => text,
    layer: LAYER => Layer,
    class: CLASS => Class,
    request: REQUEST => RequestKind,
    access: ACCESS => Access,
    target: TARGET => text,
    asked: ASKED => text,
    port: PORT => number,
    verb: VERB => text,
    rule: RULE => text,
    source: SOURCE => text,
    reason: REASON => text,
    alternative: ALTERNATIVE => text,
    backend: BACKEND => text,
    repeats: REPEATS => number,
    ticket: TICKET => number,
    deadline_ms: DEADLINE_MS => number,
    dropped: DROPPED => number,
    adds: ADDS => text,
    retry: RETRY => Retry,
    exit_reason: EXIT_REASON => ExitReason,
    exit_code: EXIT_CODE => number,
    principal: PRINCIPAL => text,
    agent_session: AGENT_SESSION => text,
    delegation: DELEGATION => text,
    approvers: APPROVERS => number,
    step_up: STEP_UP => number,
    approver: APPROVER => text,
    evidence: EVIDENCE => text,
    idempotency_key: IDEMPOTENCY_KEY => text,
    bound: BOUND => text,
    http_status: HTTP_STATUS => number,
    problem: PROBLEM => text,
}

impl Event {
    pub fn event_type(&self) -> EventType {
        // SAFETY: a live handle; so in all that follow.
        EventType(unsafe { sys::abx_event_get_type(self.0) })
    }

    pub fn number(&self, field: Field) -> i64 {
        unsafe { sys::abx_event_get_int(self.0, field.0) }
    }

    pub fn string(&self, field: Field) -> Option<String> {
        unsafe { raw::text(sys::abx_event_get_string(self.0, field.0)) }
    }

    /// One object on one line.
    pub fn to_json(&self) -> Result<String> {
        raw::buffer(|text, length| unsafe { sys::abx_event_to_json(self.0, text, length) })
    }

    /// Lines for the person who is asked.
    pub fn to_text(&self) -> Result<String> {
        raw::buffer(|text, length| unsafe { sys::abx_event_to_text(self.0, text, length) })
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Event({})", self.to_json().unwrap_or_default())
    }
}

/// The answer to an approval.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub verdict: Verdict,
    pub scope: Scope,
    /// Unix time, with `Scope::UNTIL`.
    pub expires_ms: i64,
    /// Who said so.
    pub approver: Option<String>,
    /// Step-up proof that the host has checked.
    pub evidence: Option<String>,
    /// Reaches the model with a refusal.
    pub message: Option<String>,
}

impl Answer {
    pub fn allow(scope: Scope) -> Answer {
        Answer { verdict: Verdict::ALLOW, scope, ..Answer::default() }
    }

    pub fn deny(message: &str) -> Answer {
        Answer { message: Some(message.into()), ..Answer::default() }
    }

    pub fn by(self, approver: &str) -> Answer {
        Answer { approver: Some(approver.into()), ..self }
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(*const sys::abx_answer) -> Result<T>) -> Result<T> {
        let (approver, evidence, message) = (raw::c_option(self.approver.as_ref())?, raw::c_option(self.evidence.as_ref())?, raw::c_option(self.message.as_ref())?);
        work(&sys::abx_answer {
            size: raw::size_of::<sys::abx_answer>(),
            verdict: self.verdict.0,
            scope: self.scope.0,
            reserved: 0,
            expires_ms: self.expires_ms,
            approver: raw::pointer(&approver),
            evidence: raw::pointer(&evidence),
            message: raw::pointer(&message),
        })
    }
}
