import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;

/**
 * Runs servers, each by its main class in a thread of its own. A second broker in a JVM takes half a
 * second of processor, a second JVM takes four.
 *
 * <p>The argument is a FIFO. Each of its lines has a class, a tab, and a file of properties, its
 * argument. When a server ends, by itself or since it can't start, `FILE.ended` says how, and the
 * others go on. When the FIFO is closed, the JVM ends.
 */
public final class KafkaServers {
    /** Kafka's class that ends its process: up to 4.3, and since 4.4. */
    private static final String[] EXITS = {
        "org.apache.kafka.common.utils.Exit", "org.apache.kafka.common.utils.internals.Exit"
    };

    private KafkaServers() {}

    public static void main(String[] arguments) throws Exception {
        throwInsteadOfExit();
        try (BufferedReader lines = new BufferedReader(new FileReader(arguments[0]))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split("\t");
                new Thread(() -> run(words[0], words[1]), words[1]).start();
            }
        }
        // Not exit(): the servers would be shut down one after the other, which nobody needs.
        Runtime.getRuntime().halt(0);
    }

    private static void run(String main, String file) {
        String how = "its main method returned";
        try {
            Method method = Class.forName(main).getMethod("main", String[].class);
            method.invoke(null, (Object) new String[] {file});
        } catch (InvocationTargetException error) {
            how = String.valueOf(error.getCause());
        } catch (ReflectiveOperationException error) {
            how = String.valueOf(error);
        }
        try {
            Files.write(Paths.get(file + ".ended"), Arrays.asList(how));
        } catch (IOException error) {
            System.out.println("ERROR " + file + " ended: " + how + ", and can't say so: " + error);
        }
    }

    /** Kafka would end all servers. In a release that has neither class, it still does. */
    private static void throwInsteadOfExit() throws ReflectiveOperationException {
        for (String exit : EXITS) {
            try {
                throwInsteadOf(Class.forName(exit));
                return;
            } catch (ClassNotFoundException error) {
                continue;
            }
        }
        System.out.println("ERROR none of " + Arrays.toString(EXITS) + " is there");
    }

    private static void throwInsteadOf(Class<?> exit) throws ReflectiveOperationException {
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object thrower =
                Proxy.newProxyInstance(
                        procedure.getClassLoader(),
                        new Class<?>[] {procedure},
                        (self, method, values) -> {
                            throw new IllegalStateException("exit with status " + values[0]);
                        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, thrower);
    }
}
