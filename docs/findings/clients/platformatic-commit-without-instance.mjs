// node platformatic-commit-without-instance.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
import { Admin, Consumer } from '@platformatic/kafka'

const bootstrapBrokers = [process.argv[2]]
const name = `commit-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 })
await admin.close()

const joins = {}

async function start (clientId) {
  const consumer = new Consumer({
    clientId,
    bootstrapBrokers,
    groupId: name,
    groupInstanceId: 'i-1',
    sessionTimeout: 30000,
    heartbeatInterval: 10000, // so that a commit is the first request of the replaced member
    autocommit: false
  })
  consumer.on('consumer:group:join', () => { joins[clientId] = (joins[clientId] ?? 0) + 1 })
  await consumer.consume({ topics: [name] })
  return consumer
}

/** The broker's errors within those of the library. */
const answers = error => [
  error.apiId, ...[...(error.errors ?? []), error.cause].filter(Boolean).flatMap(answers)
].filter(Boolean)

const first = await start('first')
await start('second')
console.log('joins of each process:', joins)
try {
  await first.commit({ offsets: [{ topic: name, partition: 0, offset: 0n, leaderEpoch: 0 }] })
  console.log('the commit of the replaced process is accepted')
} catch (error) {
  console.log('the commit of the replaced process is answered', answers(error))
}
console.log('joins of each process:', joins)
process.exit()
