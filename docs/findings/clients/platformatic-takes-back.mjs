// node platformatic-takes-back.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
import { Admin, Consumer } from '@platformatic/kafka'

const bootstrapBrokers = [process.argv[2]]
const name = `swap-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 })
await admin.close()
const joins = [0, 0]
const told = []

async function start (number) {
  const consumer = new Consumer({
    clientId: `process-${number}`,
    bootstrapBrokers,
    groupId: name,
    groupInstanceId: 'i-1',
    sessionTimeout: 10000,
    heartbeatInterval: 500,
    autocommit: false
  })
  consumer.on('consumer:group:join', () => { joins[number] += 1 })
  consumer.on('consumer:heartbeat:error', () => told.push('consumer:heartbeat:error'))
  consumer.on('error', error => told.push(error.message))
  const stream = await consumer.consume({ topics: [name] })
  stream.on('data', () => {})
  stream.on('error', error => told.push(error.message))
}

await start(0)
await start(1)
setTimeout(() => {
  console.log('times in 20 s that each process joined:', joins)
  console.log('errors that the users got:', [...new Set(told)])
  process.exit()
}, 20000)
