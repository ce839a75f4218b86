// java -cp 'kafka_2.13-4.3.0/libs/*' java-sticky-null-pointer.java BOOTSTRAP

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.serialization.StringDeserializer;

class StickyNullPointer {
    static String bootstrap;
    static final String RUN = UUID.randomUUID().toString().substring(0, 8);
    static final String ORDERS = "orders-" + RUN, PAYMENTS = "payments-" + RUN;

    static KafkaConsumer<String, String> consumer(String name, int maxPollMs) {
        return new KafkaConsumer<>(Map.of(
                "bootstrap.servers", bootstrap, "group.id", RUN, "client.id", name,
                "partition.assignment.strategy", StickyAssignor.class.getName(),
                "max.poll.interval.ms", maxPollMs, "heartbeat.interval.ms", 3000,
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
    }

    static void read(KafkaConsumer<String, String> consumer, String name, int seconds) {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        try {
            while (System.nanoTime() < end) consumer.poll(Duration.ofMillis(100));
            System.out.println(name + " has " + consumer.assignment().size() + " partitions");
        } catch (RuntimeException error) {
            System.out.println("poll of " + name + " raises " + error);
        }
    }

    static Thread reading(KafkaConsumer<String, String> consumer, String name, int seconds) {
        Thread thread = new Thread(() -> read(consumer, name, seconds));
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(
                    new NewTopic(ORDERS, 4, (short) 1), new NewTopic(PAYMENTS, 1, (short) 1))).all().get();
        }
        KafkaConsumer<String, String> slow = consumer("slow", 6000);
        slow.subscribe(List.of(ORDERS));
        read(slow, "slow, alone,", 8);
        KafkaConsumer<String, String> leader = consumer("leader", 60_000);
        leader.subscribe(List.of(ORDERS));
        Thread leading = reading(leader, "leader", 45);
        read(slow, "slow", 10);
        System.out.println("slow doesn't poll for longer than max.poll.interval.ms");
        Thread.sleep(16_000);
        System.out.println("a new consumer joins, and slow wants another topic");
        KafkaConsumer<String, String> newcomer = consumer("new", 60_000);
        newcomer.subscribe(List.of(ORDERS));
        Thread joining = reading(newcomer, "new", 10);
        slow.subscribe(List.of(PAYMENTS));
        read(slow, "slow", 10);
        leading.join();
        joining.join();
        Runtime.getRuntime().halt(0);
    }
}
