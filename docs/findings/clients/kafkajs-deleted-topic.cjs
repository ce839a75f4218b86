// node kafkajs-deleted-topic.cjs BOOTSTRAP, with kafkajs 2.2.4
const { Kafka, logLevel } = require('kafkajs')
const { setTimeout: sleep } = require('node:timers/promises')

const kafka = new Kafka({ brokers: [process.argv[2]], logLevel: logLevel.NOTHING })
const kept = `kept-${Date.now()}`
const old = `old-${Date.now()}`
const admin = kafka.admin()
const producer = kafka.producer()
const consumer = kafka.consumer({ groupId: kept, heartbeatInterval: 500, allowAutoTopicCreation: false })
let read = 0
let crashes = 0
const produce = topic => producer.send({
  topic, messages: [0, 1].map(partition => ({ partition, value: 'x' }))
})

async function main () {
  await admin.connect()
  await producer.connect()
  await consumer.connect()
  await admin.createTopics({
    waitForLeaders: true, topics: [kept, old].map(topic => ({ topic, numPartitions: 2 }))
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (crashes++ === 0) console.log('the consumer crashes:', payload.error.message)
  })
  await consumer.subscribe({ topics: [kept, old], fromBeginning: true })
  await consumer.run({ eachMessage: async () => { read++ } })
  await sleep(8000)
  await produce(kept)
  await produce(old)
  await sleep(5000)
  console.log('records that the user got, of four:', read)
  await admin.deleteTopics({ topics: [old] })
  console.log('one of two topics is deleted')
  await sleep(15000)
  read = 0
  await produce(kept)
  await sleep(30000)
  console.log('records of the other topic, of two:', read, 'and crashes:', crashes)
  process.exit()
}

main()
