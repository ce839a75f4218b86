//! The driver of rdkafka (Rust): client driver protocol 1, with a thread for each consumer, which
//! polls, and between two polls does what it is told, as in a program of one thread.

use std::collections::HashMap;
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::util::get_rdkafka_version;
use serde_json::{json, Value};

const POLL: Duration = Duration::from_millis(100);
const TRANSACTION: Duration = Duration::from_secs(5);
const ASSIGNORS: [&str; 3] = ["range", "roundrobin", "cooperative-sticky"];

fn say(object: &Value) {
    let mut out = stdout().lock();
    writeln!(out, "{object}").expect("stdout is open");
    out.flush().expect("stdout is open");
}

/// Writes the events of one consumer's user.
#[derive(Clone)]
struct User {
    name: String,
    begun: Instant,
}

impl User {
    fn tell(&self, event: &str, fields: Value) {
        let mut object = json!({
            "event": event,
            "consumer": self.name,
            "at_ms": self.begun.elapsed().as_millis() as u64,
        });
        for (key, value) in fields.as_object().expect("fields are an object") {
            object[key] = value.clone();
        }
        say(&object);
    }

    fn tell_partitions(&self, event: &str, partitions: &TopicPartitionList) {
        let pairs: Vec<_> = partitions
            .elements()
            .iter()
            .map(|one| json!([one.topic(), one.partition()]))
            .collect();
        self.tell(event, json!({ "partitions": pairs }));
    }

    fn tell_error(&self, place: &str, error: &KafkaError) {
        let mut fields = error_of(error);
        fields["where"] = json!(place);
        self.tell("error", fields);
    }
}

impl ClientContext for User {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        eprintln!("{facility}: {message}");
    }

    fn error(&self, error: KafkaError, _: &str) {
        self.tell_error("error callback", &error);
    }
}

impl ConsumerContext for User {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => self.tell_partitions("assigned", partitions),
            Rebalance::Revoke(partitions) if consumer.assignment_lost() => {
                self.tell_partitions("lost", partitions);
            }
            Rebalance::Revoke(partitions) => self.tell_partitions("revoked", partitions),
            Rebalance::Error(error) => self.tell_error("rebalance callback", error),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        match result {
            Err(error) if error.rdkafka_error_code() != Some(RDKafkaErrorCode::NoOffset) => {
                self.tell_error("commit callback", &error);
            }
            _ => {} // a commit of nothing is none
        }
    }
}

/// Names a code as Kafka does: the library's are the same words, and local ones are negative.
fn name_of(code: RDKafkaErrorCode) -> String {
    let mut name = String::from(if (code as i32) < 0 { "_" } else { "" });
    for (index, letter) in format!("{code:?}").chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

fn error_of(error: &KafkaError) -> Value {
    let code = error.rdkafka_error_code();
    let is_fatal = matches!(error, KafkaError::MessageConsumptionFatal(_))
        || matches!(code, None | Some(RDKafkaErrorCode::Fatal));
    json!({
        "code": code.map_or("UNKNOWN".into(), name_of),
        "fatal": is_fatal,
        "message": error.to_string(),
    })
}

fn config_of(command: &Value) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, key) in [
        ("bootstrap.servers", "bootstrap"),
        ("group.id", "group"),
        ("group.instance.id", "instance"),
        ("session.timeout.ms", "session_timeout_ms"),
        ("heartbeat.interval.ms", "heartbeat_interval_ms"),
        ("max.poll.interval.ms", "max_poll_interval_ms"),
        ("partition.assignment.strategy", "assignor"),
        ("auto.offset.reset", "auto_offset_reset"),
        ("client.id", "client_id"),
        ("client.rack", "rack"),
        ("auto.commit.interval.ms", "auto_commit_ms"),
    ] {
        if !command[key].is_null() {
            config.set(name, text(&command[key]));
        }
    }
    let commits = !command["auto_commit_ms"].is_null();
    config.set("enable.auto.commit", commits.to_string());
    for (name, value) in command["settings"].as_object().into_iter().flatten() {
        config.set(name, text(value));
    }
    config
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

fn subscribe(consumer: &BaseConsumer<User>, command: &Value) -> KafkaResult<()> {
    let topics = command["topics"].as_array().into_iter().flatten();
    let names: Vec<_> = topics.filter_map(Value::as_str).collect();
    consumer.subscribe(&names)
}

fn partitions_of(command: &Value) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for pair in command["partitions"].as_array().into_iter().flatten() {
        let number = pair[1].as_i64().unwrap_or_default() as i32;
        list.add_partition(pair[0].as_str().unwrap_or_default(), number);
    }
    list
}

fn poll(user: &User, consumer: &BaseConsumer<User>) -> bool {
    match consumer.poll(POLL) {
        None => true,
        Some(Ok(message)) => {
            user.tell(
                "records",
                json!({
                    "partition": [message.topic(), message.partition()],
                    "first": message.offset(),
                    "count": 1,
                }),
            );
            true
        }
        Some(Err(error)) => {
            user.tell_error("poll", &error);
            !error_of(&error)["fatal"].as_bool().unwrap_or(true)
        }
    }
}

/// Sends the positions to a transaction of a producer, and commits it.
fn commit_in_transaction(consumer: &BaseConsumer<User>, started: &Value) -> KafkaResult<()> {
    let mut config = ClientConfig::new();
    let id = format!("{}-{}", text(&started["group"]), text(&started["client_id"]));
    config.set("bootstrap.servers", text(&started["bootstrap"]));
    config.set("client.id", text(&started["client_id"]));
    config.set("transactional.id", id);
    let producer: BaseProducer = config.create()?;
    producer.init_transactions(TRANSACTION)?;
    producer.begin_transaction()?;
    let result = send_positions(consumer, &producer)
        .and_then(|()| producer.commit_transaction(TRANSACTION));
    if matches!(&result, Err(KafkaError::Transaction(error)) if error.txn_requires_abort()) {
        let _ = producer.abort_transaction(TRANSACTION); // the first error is the one that counts
    }
    result
}

fn send_positions(consumer: &BaseConsumer<User>, producer: &BaseProducer) -> KafkaResult<()> {
    let mut read = TopicPartitionList::new();
    for one in consumer.position()?.elements() {
        if let Offset::Offset(_) = one.offset() {
            read.add_partition_offset(one.topic(), one.partition(), one.offset())?;
        }
    }
    let metadata = consumer.group_metadata().expect("it is a consumer of a group");
    producer.send_offsets_to_transaction(&read, &metadata, TRANSACTION)
}

/// Carries out the commands of one consumer, one at a time, until it is closed.
fn serve(user: User, commands: Receiver<Value>) {
    let mut held: Option<BaseConsumer<User>> = None;
    let mut started = Value::Null;
    let mut polls = false;
    loop {
        let command = match &held {
            Some(consumer) if polls => match commands.try_recv() {
                Ok(command) => command,
                Err(_) => {
                    polls = poll(&user, consumer);
                    continue;
                }
            },
            _ => match commands.recv() {
                Ok(command) => command,
                Err(_) => return,
            },
        };
        let begun = Instant::now();
        let name = command["cmd"].as_str().unwrap_or_default();
        let mut done = json!({"id": command["id"], "ok": true});
        let result = match (name, &held) {
            ("start", _) => config_of(&command)
                .create_with_context(user.clone())
                .and_then(|made: BaseConsumer<User>| {
                    subscribe(&made, &command)?;
                    held = Some(made);
                    started = command.clone();
                    polls = true;
                    Ok(())
                }),
            (_, None) => {
                done = json!({"id": command["id"], "unsupported": "there is no consumer"});
                Ok(())
            }
            ("stop-polling", _) => {
                polls = false;
                Ok(())
            }
            ("poll-on", _) => {
                polls = true;
                Ok(())
            }
            ("commit", Some(consumer)) => consumer.commit_consumer_state(CommitMode::Sync),
            ("commit-in-transaction", Some(consumer)) => {
                commit_in_transaction(consumer, &started)
            }
            ("pause", Some(consumer)) => consumer.pause(&partitions_of(&command)),
            ("resume", Some(consumer)) => consumer.resume(&partitions_of(&command)),
            ("subscribe", Some(consumer)) => subscribe(consumer, &command),
            ("unsubscribe", Some(consumer)) => {
                consumer.unsubscribe();
                Ok(())
            }
            ("close", _) => {
                held = None; // dropped, which is how the library closes
                done["took_ms"] = json!(begun.elapsed().as_millis() as u64);
                Ok(())
            }
            _ => {
                let why = format!("there is no command {name}");
                done = json!({"id": command["id"], "unsupported": why});
                Ok(())
            }
        };
        if let Err(error) = result {
            done = json!({"id": command["id"], "error": error_of(&error)});
        }
        say(&done);
        if name == "close" {
            return;
        }
    }
}

fn introduction(command: &Value) -> Value {
    let (_, linked) = get_rdkafka_version();
    json!({
        "id": command["id"],
        "protocol": 1,
        "client": "rdkafka-rust",
        "version": format!("{}, librdkafka {linked}", env!("LIBRARY_VERSION")),
        "language": "rust",
        "features": [
            "static", "cooperative", "auto-commit", "manual-commit", "pause", "seek",
            "next-generation", "transactions",
        ],
        "assignors": ASSIGNORS,
    })
}

fn main() {
    let begun = Instant::now();
    let mut users: HashMap<String, Sender<Value>> = HashMap::new();
    for line in stdin().lock().lines() {
        let line = line.expect("stdin is text");
        let command: Value = serde_json::from_str(&line).expect("a line is an object");
        let name = command["cmd"].as_str().unwrap_or_default();
        let consumer = command["consumer"].as_str().unwrap_or_default().to_string();
        match name {
            "hello" => say(&introduction(&command)),
            "bye" => {
                say(&json!({"id": command["id"], "ok": true}));
                break;
            }
            "start" => {
                let (sender, receiver) = channel();
                let user = User { name: consumer.clone(), begun };
                thread::spawn(move || serve(user, receiver));
                sender.send(command).expect("the user has just begun");
                users.insert(consumer, sender);
            }
            _ => {
                let user = if name == "close" {
                    users.remove(&consumer)
                } else {
                    users.get(&consumer).cloned()
                };
                let is_sent = user.is_some_and(|sender| sender.send(command.clone()).is_ok());
                if !is_sent {
                    let why = format!("there is no consumer for {name}");
                    say(&json!({"id": command["id"], "unsupported": why}));
                }
            }
        }
    }
    std::process::exit(0); // consumers that are open are left as a crash would leave them
}
