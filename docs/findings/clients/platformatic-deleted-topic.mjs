// node platformatic-deleted-topic.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
import { Admin, Consumer, Producer, stringSerializers } from '@platformatic/kafka'
import { setTimeout as sleep } from 'node:timers/promises'

const bootstrapBrokers = [process.argv[2]]
const kept = `kept-${Date.now()}`
const old = `old-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [kept, old], partitions: 2, replicas: 1 })
const producer = new Producer({ clientId: 'producer', bootstrapBrokers, serializers: stringSerializers })
const produce = topic => producer.send({
  messages: [0, 1].map(partition => ({ topic, partition, value: 'x' }))
})

const consumer = new Consumer({
  clientId: 'member', bootstrapBrokers, groupId: kept, heartbeatInterval: 500, autocommit: false
})
const stream = await consumer.consume({ topics: [kept, old], mode: 'committed', fallbackMode: 'earliest' })
let read = 0
stream.on('data', () => read++)
stream.on('error', error => console.log('the stream ends:', error.message))
await produce(kept)
await produce(old)
await sleep(5000)
console.log('records that the user got, of four:', read)
await admin.deleteTopics({ topics: [old] })
console.log('one of two topics is deleted')
await sleep(15000)
read = 0
await produce(kept)
await sleep(10000)
console.log('records of the other topic, of two:', read, 'and the stream is destroyed:', stream.destroyed)
process.exit()
