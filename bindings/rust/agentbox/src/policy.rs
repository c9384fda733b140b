// SPDX-License-Identifier: Apache-2.0
use crate::constants::{Access, Limit, Relation, Verdict, Weaken};
use crate::error::{Error, Result};
use crate::raw::{self, handle};
use crate::report;
use crate::request::{Decision, Request};
use agentbox_sys as sys;
use std::ffi::OsStr;

handle! {
    /// Compiled rules; they never change.
    Policy, abx_policy, abx_policy_unref, [Send, Sync]
}

impl Policy {
    /// A built-in profile, the variables that it uses, and documents merged over it.
    pub fn from_profile(profile: &str, variables: &[(&str, &str)], documents: &[&str]) -> Result<Policy> {
        let mut builder = PolicyBuilder::new(Some(profile))?;
        for (name, value) in variables {
            builder.variable(name, value)?;
        }
        for document in documents {
            builder.merge(document, None)?;
        }
        builder.build()
    }

    pub fn from_json(document: &str) -> Result<Policy> {
        // SAFETY: as many bytes as are said.
        raw::made(|made, error| unsafe { sys::abx_policy_from_json(document.as_ptr().cast(), document.len(), made, error) }).map(Policy)
    }

    pub fn to_json(&self) -> Result<String> {
        // SAFETY: a live handle.
        raw::buffer(|text, length| unsafe { sys::abx_policy_to_json(self.0, text, length) })
    }

    /// This policy under a ceiling: what both allow.
    pub fn under(&self, ceiling: &Policy) -> Result<Policy> {
        // SAFETY: live handles.
        raw::made(|made, error| unsafe { sys::abx_policy_intersect(ceiling.0, self.0, made, error) }).map(Policy)
    }

    /// What `after` allows and this one does not, and the reverse.
    pub fn compare(&self, after: &Policy) -> Result<Comparison> {
        // SAFETY: live handles.
        let (relation, rows) = report::rows(|made, error| unsafe { sys::abx_policy_compare(self.0, after.0, made, error) })?;
        Ok(Comparison { relation: Relation(relation), rows })
    }

    /// The boundary in words, for a model's tool description: `"text"`, `"markdown"` or `"json"`.
    pub fn describe(&self, format: &str) -> Result<String> {
        let format = raw::c_string(format)?;
        // SAFETY: a live handle and text.
        raw::buffer(|text, length| unsafe { sys::abx_policy_describe(self.0, format.as_ptr(), text, length) })
    }

    /// SHA-256, hex.
    pub fn digest(&self) -> String {
        // SAFETY: lent as long as the policy lives.
        unsafe { raw::text(sys::abx_policy_get_digest(self.0)).unwrap_or_default() }
    }

    pub fn evaluate(&self, request: &Request) -> Result<Decision> {
        request.with(|request| {
            let mut found = Decision::empty();
            // SAFETY: a live handle and structs.
            raw::check(unsafe { sys::abx_policy_evaluate(self.0, request, &mut found) })?;
            Ok(Decision::of(&found))
        })
    }

    /// JSON: which rule decides, and why.
    pub fn explain(&self, request: &Request) -> Result<String> {
        // SAFETY: a live handle and struct.
        request.with(|request| raw::buffer(|text, length| unsafe { sys::abx_policy_explain(self.0, request, text, length) }))
    }
}

/// How two policies differ.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub relation: Relation,
    /// JSON: a row for each difference.
    pub rows: String,
}

handle! {
    /// Collects rules. A setter says what is wrong with what it was given.
    PolicyBuilder, abx_policy_builder, abx_policy_builder_unref, [Send]
}

impl PolicyBuilder {
    pub fn new(profile: Option<&str>) -> Result<PolicyBuilder> {
        let profile = raw::c_option(profile)?;
        // SAFETY: a live text.
        raw::made(|made, error| unsafe { sys::abx_policy_builder_new(raw::pointer(&profile), made, error) }).map(PolicyBuilder)
    }

    /// A poisoned builder says what was wrong with the setter.
    fn set(&mut self, status: i32) -> Result<&mut PolicyBuilder> {
        if status < 0 {
            self.build()?;
            return Err(Error::take(status, std::ptr::null_mut()));
        }
        Ok(self)
    }

    pub fn variable(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<&mut PolicyBuilder> {
        let (name, value) = (raw::c_string(name)?, raw::c_string(value)?);
        // SAFETY: a live handle and texts; so in all that follow.
        self.set(unsafe { sys::abx_policy_builder_variable(self.0, name.as_ptr(), value.as_ptr()) })
    }

    pub fn path(&mut self, pattern: impl AsRef<OsStr>, access: Access, verdict: Verdict) -> Result<&mut PolicyBuilder> {
        let pattern = raw::c_string(pattern)?;
        self.set(unsafe { sys::abx_policy_builder_path(self.0, pattern.as_ptr(), access.0, verdict.0) })
    }

    /// Ports from and to; 0 and 0 are the usual ones.
    pub fn host(&mut self, host: &str, ports: (u16, u16), verdict: Verdict) -> Result<&mut PolicyBuilder> {
        let host = raw::c_string(host)?;
        self.set(unsafe { sys::abx_policy_builder_host(self.0, host.as_ptr(), ports.0, ports.1, verdict.0) })
    }

    /// None passes the host's value.
    pub fn env(&mut self, name: &str, value: Option<&str>) -> Result<&mut PolicyBuilder> {
        let (name, value) = (raw::c_string(name)?, raw::c_option(value)?);
        self.set(unsafe { sys::abx_policy_builder_env(self.0, name.as_ptr(), raw::pointer(&value)) })
    }

    pub fn limit(&mut self, limit: Limit, value: u64) -> Result<&mut PolicyBuilder> {
        self.set(unsafe { sys::abx_policy_builder_limit(self.0, limit.0, value) })
    }

    /// Why the rule added last is there, and what to do instead.
    pub fn explain(&mut self, reason: &str, alternative: Option<&str>) -> Result<&mut PolicyBuilder> {
        let (reason, alternative) = (raw::c_string(reason)?, raw::c_option(alternative)?);
        self.set(unsafe { sys::abx_policy_builder_explain(self.0, reason.as_ptr(), raw::pointer(&alternative)) })
    }

    /// The only way to weaken the boundary; the reason stays in the policy.
    pub fn weaken(&mut self, what: Weaken, reason: &str) -> Result<&mut PolicyBuilder> {
        let reason = raw::c_string(reason)?;
        self.set(unsafe { sys::abx_policy_builder_weaken(self.0, what.0, reason.as_ptr()) })
    }

    /// `source` is the document's name in errors and events.
    pub fn merge(&mut self, document: &str, source: Option<&str>) -> Result<&mut PolicyBuilder> {
        if let Some(source) = source {
            let source = raw::c_string(source)?;
            self.set(unsafe { sys::abx_policy_builder_source(self.0, source.as_ptr()) })?;
        }
        self.set(unsafe { sys::abx_policy_builder_merge_json(self.0, document.as_ptr().cast(), document.len()) })
    }

    pub fn build(&mut self) -> Result<Policy> {
        // SAFETY: a live handle.
        raw::made(|made, error| unsafe { sys::abx_policy_builder_build(self.0, made, error) }).map(Policy)
    }
}

handle! {
    /// On whose behalf a box works: names that are on each of its events.
    Identity, abx_identity, abx_identity_unref, [Send, Sync]
}

impl Identity {
    /// `delegation_expires_ms` is Unix time, 0 is never.
    pub fn new(principal: &str, agent_session: &str, delegation: Option<&str>, delegation_expires_ms: i64) -> Result<Identity> {
        let (principal, session, delegation) = (raw::c_string(principal)?, raw::c_string(agent_session)?, raw::c_option(delegation)?);
        // SAFETY: live texts.
        raw::made(|made, error| unsafe {
            sys::abx_identity_new(principal.as_ptr(), session.as_ptr(), raw::pointer(&delegation), delegation_expires_ms, made, error)
        })
        .map(Identity)
    }
}
