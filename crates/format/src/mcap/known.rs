//! What the records before an event contain about it.

use super::record::{self, OP_CHANNEL};
use super::{MESSAGE_ENCODING, SCHEMA_ENCODING, salvage};
use crate::event::{Foreign, ForeignSchema};
use crate::schemas::Schemas;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How much is kept of the descriptions of other writers: more than real files have.
const MAX_FOREIGN_BYTES: usize = 64 << 20;

/// Channels and schemas that were met.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// More than MCAP has numbers for cannot be; their names are bounded by the file.
    channels: HashMap<u16, Channel>,
    pub(super) schemas: Schemas,
    /// Schemas of other writers: their messages are bytes to us. `None` if there was too much to keep.
    foreign: HashMap<u16, Option<Arc<ForeignSchema>>>,
    n_foreign_bytes: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Channel {
    topic: String,
    schema_id: u16,
    encoding: String,
    metadata: BTreeMap<String, String>,
}

impl Known {
    pub(super) fn topic(&self, channel_id: u16) -> Option<&str> {
        let channel = self.channels.get(&channel_id)?;
        Some(&channel.topic)
    }

    pub(super) fn n_foreign(&self) -> usize {
        self.foreign.len()
    }

    /// What has to be copied of a channel unchanged, because our own description would differ.
    pub(super) fn foreign(&self, channel_id: u16) -> Option<Foreign<'_>> {
        let channel = self.channels.get(&channel_id)?;
        let schema = self.foreign.get(&channel.schema_id);
        let is_ours = channel.encoding == MESSAGE_ENCODING && channel.metadata.is_empty();
        (!is_ours || schema.is_some()).then_some(Foreign {
            encoding: &channel.encoding,
            metadata: &channel.metadata,
            schema: schema.and_then(Option::as_ref),
        })
    }

    pub(super) fn learn_all(&mut self, mut records: &[u8]) {
        while let Some((op, body, after)) = salvage::split_record(records) {
            self.learn(op, body);
            records = after;
        }
    }

    pub(super) fn learn(&mut self, op: u8, body: &[u8]) {
        if op == OP_CHANNEL {
            if let Some(channel) = record::Channel::read(body) {
                self.learn_channel(&channel);
            }
        } else if let Some(schema) = record::Schema::read(body) {
            let is_ours = schema.encoding == SCHEMA_ENCODING;
            if !is_ours || self.schemas.add_bytes(schema.data).is_err() {
                self.learn_foreign(&schema);
            }
        }
    }

    fn learn_channel(&mut self, channel: &record::Channel<'_>) {
        let described = Channel {
            topic: channel.topic.to_owned(),
            schema_id: channel.schema_id,
            encoding: channel.encoding.to_owned(),
            metadata: channel.metadata(),
        };
        self.channels.insert(channel.id, described);
    }

    /// Many writers repeat themselves in every chunk: what is known stays the same thing.
    fn learn_foreign(&mut self, schema: &record::Schema<'_>) {
        let known = self.foreign.get(&schema.id).and_then(Option::as_ref);
        let is_same = known.is_some_and(|known| {
            known.name == schema.name
                && known.encoding == schema.encoding
                && known.data == schema.data
        });
        if is_same {
            return;
        }
        let n_bytes = schema.name.len() + schema.encoding.len() + schema.data.len();
        let is_room = self.n_foreign_bytes + n_bytes <= MAX_FOREIGN_BYTES;
        if is_room {
            self.n_foreign_bytes += n_bytes;
        }
        let kept = is_room.then(|| {
            Arc::new(ForeignSchema {
                name: schema.name.to_owned(),
                encoding: schema.encoding.to_owned(),
                data: schema.data.to_vec(),
            })
        });
        self.foreign.insert(schema.id, kept);
    }
}
