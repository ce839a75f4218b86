import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Asks the assignors of kafka-clients: a question on each line of the first file, its answer on the
 * same line of the second. A question is asked under several namings, which leave the order of all
 * names as it is but not that of hash tables; the answer has each result once.
 */
public final class AssignorProgram {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String[][] NAMINGS = {
        {"", ""}, {"", "-7"}, {"", "-qx"}, {"k", "-zz9"}, {"Zb", "-0"}, {"", "-m3m3"}, {"9", "-ab"}, {"w", "-y1"}
    };

    public static void main(String[] files) throws IOException {
        try (BufferedReader questions = Files.newBufferedReader(Path.of(files[0]));
                BufferedWriter answers = Files.newBufferedWriter(Path.of(files[1]))) {
            for (String line = questions.readLine(); line != null; line = questions.readLine()) {
                answers.write(JSON.writeValueAsString(answer(JSON.readTree(line))));
                answers.newLine();
            }
        }
    }

    private static ObjectNode answer(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        Set<ObjectNode> results = new LinkedHashSet<>();
        int namings = question.path("namings").asInt(NAMINGS.length);
        for (int i = 0; i < namings; i++) {
            Question asked = new Question(question, NAMINGS[i][0], NAMINGS[i][1]);
            long began = System.nanoTime();
            ObjectNode result;
            try {
                Map<String, Assignment> found =
                        asked.assignor.assign(asked.cluster, asked.group).groupAssignment();
                if (i == 0) answer.put("took_us", (System.nanoTime() - began) / 1000);
                result = asked.told(found);
            } catch (RuntimeException error) {
                result = JSON.createObjectNode().put("failed", error.getClass().getSimpleName());
            }
            results.add(result);
        }
        ArrayNode all = answer.putArray("results");
        results.forEach(all::add);
        return answer;
    }

    /** A question under one naming: a prefix and a suffix of all names of members and topics. */
    private static final class Question {
        final ConsumerPartitionAssignor assignor;
        final Cluster cluster;
        final GroupSubscription group;
        private final String prefix;
        private final String suffix;
        private final Map<String, Node> nodes = new HashMap<>();

        Question(JsonNode asked, String prefix, String suffix) {
            this.prefix = prefix;
            this.suffix = suffix;
            String name = asked.get("assignor").asText();
            assignor = assignorOf(name);
            List<PartitionInfo> partitions = new ArrayList<>();
            asked.get("topics").fieldNames().forEachRemaining(topic -> {
                JsonNode racks = asked.get("topics").get(topic);
                for (int number = 0; number < racks.size(); number++) {
                    Node[] replicas = new Node[racks.get(number).size()];
                    for (int i = 0; i < replicas.length; i++)
                        replicas[i] = node(racks.get(number).get(i).asText());
                    Node leader = replicas.length == 0 ? Node.noNode() : replicas[0];
                    partitions.add(new PartitionInfo(named(topic), number, leader, replicas, replicas));
                }
            });
            cluster = new Cluster("cluster", nodes.values(), partitions, Set.of(), Set.of());
            Map<String, Subscription> members = new HashMap<>();
            for (JsonNode member : asked.get("members"))
                members.put(named(member.get("id").asText()), subscription(member, name.equals("sticky")));
            group = new GroupSubscription(members);
        }

        private Subscription subscription(JsonNode member, boolean remembers) {
            List<String> topics = new ArrayList<>();
            member.get("topics").forEach(topic -> topics.add(named(topic.asText())));
            List<TopicPartition> owned = new ArrayList<>();
            member.get("owned").forEach(one ->
                    owned.add(new TopicPartition(named(one.get(0).asText()), one.get(1).asInt())));
            int generation = member.get("generation").asInt();
            ByteBuffer memory = remembers ? memory(topics, owned, generation) : null;
            Optional<String> rack = Optional.ofNullable(member.path("rack").textValue());
            Subscription made =
                    new Subscription(topics, memory, remembers ? List.of() : owned, generation, rack);
            made.setGroupInstanceId(Optional.ofNullable(member.path("instance").textValue()).map(this::named));
            return made;
        }

        /** What a member of the sticky assignor tells of what it had. */
        private static ByteBuffer memory(List<String> topics, List<TopicPartition> owned, int generation) {
            StickyAssignor member = new StickyAssignor();
            if (!owned.isEmpty() || generation >= 0)
                member.onAssignment(new Assignment(owned),
                        new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
            return member.subscriptionUserData(new HashSet<>(topics));
        }

        ObjectNode told(Map<String, Assignment> found) {
            ObjectNode result = JSON.createObjectNode();
            new TreeMap<>(found).forEach((member, assignment) -> {
                ArrayNode partitions = result.putArray(plain(member));
                TreeSet<String> topics = new TreeSet<>();
                assignment.partitions().forEach(p -> topics.add(p.topic()));
                for (String topic : topics) {
                    List<Integer> numbers = new ArrayList<>();
                    assignment.partitions().stream().filter(p -> p.topic().equals(topic))
                            .forEach(p -> numbers.add(p.partition()));
                    Collections.sort(numbers);
                    for (int number : numbers)
                        partitions.addArray().add(plain(topic)).add(number);
                }
            });
            return result;
        }

        private Node node(String rack) {
            return nodes.computeIfAbsent(rack, r -> new Node(nodes.size() + 1, "broker", 9092, r));
        }

        private String named(String name) {
            return prefix + name + suffix;
        }

        private String plain(String name) {
            return name.substring(prefix.length(), name.length() - suffix.length());
        }
    }

    private static ConsumerPartitionAssignor assignorOf(String name) {
        switch (name) {
            case "range":
                return new RangeAssignor();
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            case "cooperative-sticky":
                return new CooperativeStickyAssignor();
            default:
                throw new IllegalArgumentException("no assignor " + name);
        }
    }
}
