import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The driver of kafka-clients (client driver protocol 1). Each consumer has a thread, which polls, and
 * between two polls does what it is told. It compiles with kafka-clients 2.0 and later.
 */
public final class ClientDriver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = System.out;
    private static final Map<String, String> ASSIGNORS = new LinkedHashMap<>();

    private static final Class<?> GROUP_METADATA = groupMetadata();
    private static final int TRANSACTION_MS = 5000;

    static {
        putAssignor("range", "RangeAssignor");
        putAssignor("roundrobin", "RoundRobinAssignor");
        putAssignor("sticky", "StickyAssignor");
        putAssignor("cooperative-sticky", "CooperativeStickyAssignor");
    }

    private static void putAssignor(String name, String type) {
        String full = "org.apache.kafka.clients.consumer." + type;
        try {
            Class.forName(full);
            ASSIGNORS.put(name, full);
        } catch (ClassNotFoundException error) {
            // this release has no such assignor
        }
    }

    /** Returns the type of a consumer's group metadata, or null before 2.5. */
    private static Class<?> groupMetadata() {
        try {
            return KafkaConsumer.class.getMethod("groupMetadata").getReturnType();
        } catch (NoSuchMethodException error) {
            return null;
        }
    }

    public static void main(String[] args) throws IOException {
        System.setOut(System.err); // what a library prints is none of ours
        warmUp();
        Map<String, User> users = new HashMap<>();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("cmd").asText();
            String consumer = command.path("consumer").asText();
            if (name.equals("hello")) {
                say(introduction(command));
            } else if (name.equals("bye")) {
                say(reply(command, "ok", true));
                break;
            } else if (name.equals("start")) {
                User user = new User(consumer);
                users.put(consumer, user);
                user.told.add(command);
                user.start();
            } else if (!users.containsKey(consumer)) {
                say(reply(command, "unsupported", "there is no consumer for " + name));
            } else {
                User user = name.equals("close") ? users.remove(consumer) : users.get(consumer);
                user.told.add(command);
            }
        }
        Runtime.getRuntime().halt(0); // consumers that are open are left as a crash would leave them
    }

    /** Has the classes of the library loaded, which takes seconds, before anybody waits for it. */
    private static void warmUp() {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", "127.0.0.1:1");
        config.put("group.id", "unused");
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        new KafkaConsumer<byte[], byte[]>(config).close(Duration.ZERO);
    }

    /** Reads the version from the library's jar: no public class of all releases has it. */
    private static String version() throws IOException {
        try (InputStream file =
                KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            Properties properties = new Properties();
            properties.load(file);
            return properties.getProperty("version");
        }
    }

    private static Map<String, Object> introduction(JsonNode command) throws IOException {
        Map<String, Object> said = reply(command, "protocol", 1);
        said.put("client", "kafka-clients");
        said.put("version", version());
        said.put("language", "java");
        List<String> features =
                new ArrayList<>(List.of("auto-commit", "manual-commit", "pause", "seek"));
        features.add("commit-on-revoke");
        features.add("metadata-age");
        if (GROUP_METADATA != null) {
            features.add("transactions");
        }
        features.add("pattern");
        features.add("close-twice");
        Set<String> options = ConsumerConfig.configNames();
        if (options.contains("group.instance.id")) {
            features.add("static");
        }
        if (ASSIGNORS.containsKey("cooperative-sticky")) {
            features.add("cooperative");
        }
        if (options.contains("group.protocol")) {
            features.add("next-generation");
        }
        said.put("features", features);
        said.put("assignors", ASSIGNORS.keySet());
        return said;
    }

    private static Map<String, Object> reply(JsonNode command, String key, Object value) {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("id", command.get("id").asInt());
        said.put(key, value);
        return said;
    }

    private static void say(Map<String, Object> said) {
        try {
            byte[] line = (JSON.writeValueAsString(said) + "\n").getBytes(StandardCharsets.UTF_8);
            synchronized (OUT) {
                OUT.write(line, 0, line.length);
                OUT.flush();
            }
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Map<String, Object> error(Exception error) {
        Errors known = Errors.forException(error);
        boolean isNamed =
                known != Errors.UNKNOWN_SERVER_ERROR || error instanceof UnknownServerException;
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("code", isNamed ? known.name() : error.getClass().getSimpleName());
        said.put("fatal", !(error instanceof RetriableException));
        said.put("message", String.valueOf(error.getMessage()));
        return said;
    }

    /** A consumer and its user. */
    private static final class User extends Thread implements ConsumerRebalanceListener {
        private final BlockingQueue<JsonNode> told = new LinkedBlockingQueue<>();
        private KafkaConsumer<byte[], byte[]> consumer;
        private boolean polls;
        private boolean commitsOnRevoke;
        private JsonNode started;

        User(String name) {
            super(name);
        }

        @Override
        public void run() {
            String name = "";
            while (!name.equals("close")) {
                JsonNode command = polls ? told.poll() : take();
                if (command == null) {
                    poll();
                } else {
                    name = command.get("cmd").asText();
                    obey(name, command);
                }
            }
        }

        private JsonNode take() {
            try {
                return told.take();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }

        private void poll() {
            try {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                for (TopicPartition partition : records.partitions()) {
                    List<ConsumerRecord<byte[], byte[]>> some = records.records(partition);
                    Map<String, Object> fields = new LinkedHashMap<>();
                    fields.put("partition", List.of(partition.topic(), partition.partition()));
                    fields.put("first", some.get(0).offset());
                    fields.put("count", some.size());
                    tell("records", fields);
                }
            } catch (Exception error) {
                Map<String, Object> fields = error(error);
                polls = !(boolean) fields.get("fatal");
                fields.put("where", "poll");
                tell("error", fields);
            }
        }

        private void obey(String name, JsonNode command) {
            long begun = System.nanoTime();
            Map<String, Object> said = reply(command, "ok", true);
            if (consumer == null && !name.equals("start")) {
                say(reply(command, "unsupported", "there is no consumer"));
                return;
            }
            try {
                switch (name) {
                    case "start":
                        String lacks = lacks(command);
                        if (lacks == null) {
                            open(command);
                            polls = true;
                        } else {
                            said = reply(command, "unsupported", lacks);
                        }
                        break;
                    case "stop-polling":
                        polls = false;
                        break;
                    case "poll-on":
                        polls = true;
                        break;
                    case "commit":
                        consumer.commitSync();
                        break;
                    case "commit-in-transaction":
                        if (GROUP_METADATA == null) {
                            said = reply(command, "unsupported", "there is no group metadata");
                        } else {
                            commitInTransaction();
                        }
                        break;
                    case "subscribe":
                        subscribe(command);
                        polls = true;
                        break;
                    case "unsubscribe":
                        consumer.unsubscribe();
                        polls = false; // it raises an exception now
                        break;
                    case "pause":
                        consumer.pause(partitions(command));
                        break;
                    case "resume":
                        consumer.resume(partitions(command));
                        break;
                    case "close":
                        Duration timeout = Duration.ofMillis(command.path("timeout_ms").asInt(10_000));
                        consumer.close(timeout);
                        if (command.path("twice").asBoolean()) {
                            consumer.close(timeout);
                        }
                        said.put("took_ms", (System.nanoTime() - begun) / 1_000_000);
                        break;
                    default:
                        said = reply(command, "unsupported", "there is no command " + name);
                }
            } catch (Exception error) {
                said = reply(command, "error", error(error));
            }
            say(said);
        }

        /** Sends the positions to a transaction of a producer, and commits it. */
        private void commitInTransaction() throws Exception {
            String client = started.get("client_id").asText();
            Map<String, Object> config = new HashMap<>();
            config.put("bootstrap.servers", started.get("bootstrap").asText());
            config.put("client.id", client);
            config.put("transactional.id", started.get("group").asText() + "-" + client);
            config.put("max.block.ms", TRANSACTION_MS);
            config.put("key.serializer", ByteArraySerializer.class);
            config.put("value.serializer", ByteArraySerializer.class);
            KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
            try {
                producer.initTransactions();
                producer.beginTransaction();
                try {
                    sendOffsets(producer);
                    producer.commitTransaction();
                } catch (Exception error) {
                    abort(producer);
                    throw error;
                }
            } finally {
                producer.close(Duration.ofMillis(TRANSACTION_MS));
            }
        }

        private void abort(KafkaProducer<byte[], byte[]> producer) {
            try {
                producer.abortTransaction();
            } catch (Exception error) {
                // the first error is the one that counts
            }
        }

        private void sendOffsets(KafkaProducer<byte[], byte[]> producer) throws Exception {
            Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
            for (TopicPartition partition : consumer.assignment()) {
                read.put(partition, new OffsetAndMetadata(consumer.position(partition)));
            }
            try {
                Object metadata = KafkaConsumer.class.getMethod("groupMetadata").invoke(consumer);
                KafkaProducer.class
                        .getMethod("sendOffsetsToTransaction", Map.class, GROUP_METADATA)
                        .invoke(producer, read, metadata);
            } catch (InvocationTargetException error) {
                throw (Exception) error.getCause();
            }
        }

        private void open(JsonNode command) {
            started = command;
            Map<String, Object> config = new HashMap<>();
            config.put("bootstrap.servers", command.get("bootstrap").asText());
            config.put("group.id", command.get("group").asText());
            config.put("session.timeout.ms", command.get("session_timeout_ms").asInt());
            config.put("heartbeat.interval.ms", command.get("heartbeat_interval_ms").asInt());
            config.put("max.poll.interval.ms", command.get("max_poll_interval_ms").asInt());
            String assignor = command.get("assignor").asText();
            config.put("partition.assignment.strategy", ASSIGNORS.getOrDefault(assignor, assignor));
            config.put("auto.offset.reset", command.get("auto_offset_reset").asText());
            config.put("client.id", command.get("client_id").asText());
            config.put("enable.auto.commit", command.hasNonNull("auto_commit_ms"));
            config.put("key.deserializer", ByteArrayDeserializer.class);
            config.put("value.deserializer", ByteArrayDeserializer.class);
            if (command.hasNonNull("auto_commit_ms")) {
                config.put("auto.commit.interval.ms", command.get("auto_commit_ms").asInt());
            }
            if (command.hasNonNull("instance")) {
                config.put("group.instance.id", command.get("instance").asText());
            }
            if (command.hasNonNull("rack")) {
                config.put("client.rack", command.get("rack").asText());
            }
            if (command.hasNonNull("metadata_max_age_ms")) {
                config.put("metadata.max.age.ms", command.get("metadata_max_age_ms").asInt());
            }
            commitsOnRevoke = command.path("commit_on_revoke").asBoolean();
            command.path("settings").fields()
                    .forEachRemaining(one -> config.put(one.getKey(), one.getValue().asText()));
            consumer = new KafkaConsumer<>(config);
            if (command.hasNonNull("pattern")) {
                consumer.subscribe(Pattern.compile(command.get("pattern").asText()), this);
            } else {
                subscribe(command);
            }
        }

        /** Says what this release has no setting for; else it would only warn of an unknown one. */
        private static String lacks(JsonNode command) {
            Set<String> options = ConsumerConfig.configNames();
            if (command.hasNonNull("instance") && !options.contains("group.instance.id")) {
                return "a consumer has no group.instance.id";
            }
            if (command.hasNonNull("rack") && !options.contains("client.rack")) {
                return "a consumer has no client.rack";
            }
            return null;
        }

        private static List<TopicPartition> partitions(JsonNode command) {
            List<TopicPartition> partitions = new ArrayList<>();
            command.get("partitions").forEach(
                    one -> partitions.add(new TopicPartition(one.get(0).asText(), one.get(1).asInt())));
            return partitions;
        }

        private void subscribe(JsonNode command) {
            List<String> topics = new ArrayList<>();
            command.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, this);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("revoked", partitions);
            if (commitsOnRevoke) {
                try {
                    consumer.commitSync();
                } catch (Exception error) {
                    Map<String, Object> fields = error(error);
                    fields.put("where", "commit");
                    tell("error", fields);
                }
            }
        }

        // Without @Override: it came with 2.4.
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", partitions);
        }

        private void tell(String event, Collection<TopicPartition> partitions) {
            List<List<Object>> pairs = new ArrayList<>();
            partitions.forEach(one -> pairs.add(List.of(one.topic(), one.partition())));
            tell(event, Map.of("partitions", pairs));
        }

        private void tell(String event, Map<String, ?> fields) {
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("event", event);
            said.put("consumer", getName());
            said.put("at_ms", System.nanoTime() / 1_000_000);
            said.putAll(fields);
            say(said);
        }
    }
}
