// node platformatic-reads-revoked.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
import { Admin, Consumer, Producer, stringSerializers } from '@platformatic/kafka'
import { setTimeout as sleep } from 'node:timers/promises'

const bootstrapBrokers = [process.argv[2]]
const name = `revoked-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [name], partitions: 4, replicas: 1 })
const producer = new Producer({ clientId: 'producer', bootstrapBrokers, serializers: stringSerializers })

async function produce (count) {
  const messages = []
  for (let partition = 0; partition < 4; partition++) {
    for (let n = 0; n < count; n++) messages.push({ topic: name, partition, value: 'x' })
  }
  await producer.send({ messages })
}

async function start (clientId) {
  const member = { has: [], read: [] }
  const consumer = new Consumer({
    clientId,
    bootstrapBrokers,
    groupId: name,
    protocols: [{ name: 'cooperative-sticky', version: 1 }],
    heartbeatInterval: 500,
    autocommit: false
  })
  consumer.on('consumer:group:join', ({ assignments }) => {
    member.has = (assignments ?? []).flatMap(({ partitions }) => partitions)
  })
  const stream = await consumer.consume({ topics: [name], mode: 'committed', fallbackMode: 'earliest' })
  stream.on('data', ({ partition }) => member.read.push(partition))
  return member
}

const first = await start('first')
await sleep(500)
const second = await start('second')
await sleep(2000)
console.log('the first member has partitions', first.has, 'and the second has', second.has)
await produce(5)
await sleep(2000)
console.log('records that the first gets, of partitions that the second has:',
  first.read.filter(partition => second.has.includes(partition)).length)
console.log('records that the second gets of them:', second.read.length)
process.exit()
