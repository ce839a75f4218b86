// node platformatic-leave.mjs BOOTSTRAP, with @platformatic/kafka 2.12.1
import { Admin, Consumer } from '@platformatic/kafka'

const bootstrapBrokers = [process.argv[2]]
const name = `leave-${Date.now()}`
const admin = new Admin({ clientId: 'admin', bootstrapBrokers })
await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 })
const consumer = new Consumer({
  clientId: 'static',
  bootstrapBrokers,
  groupId: name,
  groupInstanceId: 'i-1',
  sessionTimeout: 30000,
  heartbeatInterval: 500,
  autocommit: false
})
const members = async () => (await admin.describeGroups({ groups: [name] })).get(name).members.size
const stream = await consumer.consume({ topics: [name] })
console.log('members of the group:', await members())
await stream.close()
await consumer.close()
console.log('members right after close(), with a session timeout of 30 s:', await members())
await admin.close()
