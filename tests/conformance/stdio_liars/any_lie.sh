# Honest, but for one command: any_lie.sh COMMAND AFTER HOW REPLY
#
# After AFTER honest replies to COMMAND the next one is REPLY, and HOW tells what then happens.
# In sh, since it starts in a millisecond and a hundred of them are started.
command=$1 honest=$2 how=$3 reply=$4
seen=0 now=0
while IFS= read -r line; do
  name=${line#*\"cmd\":\"} name=${name%%\"*}
  id=${line#*\"id\":\"} id=${id%%\"*}
  [ "$name" = "$command" ] && seen=$((seen + 1))
  if [ "$name" = "$command" ] && [ "$seen" -gt "$honest" ]; then
    case $how in
      says) printf '%b\n' "$reply" ;;
      exits) printf '%s' "$reply" && exit 3 ;;
      closes) printf '%s' "$reply" && exec >&- && sleep 1000 ;;
      hangs) printf '%s' "$reply" && sleep 1000 ;;
      floods) head -c 17000000 /dev/zero && sleep 1000 ;;
    esac
    continue
  fi
  case $name in
    hello) echo '{"protocol":1,"implementation":"liar","version":"1","clock":"virtual","apis":{"Heartbeat":[0,4]},"features":["disconnect","restart"]}' ;;
    reset) now=0 && echo '{"ok":true,"config":{},"dropped":[]}' ;;
    send) echo "{\"answers\":[{\"id\":\"$id\",\"at_ms\":$now,\"body\":{\"errorCode\":25}}]}" ;;
    advance) ms=${line#*\"ms\":} && now=$((now + ${ms%%[!0-9]*})) && echo '{"answers":[]}' ;;
    disconnect | restart) echo '{"answers":[],"dropped":[]}' ;;
    move-coordinator | delete-topics) echo '{"answers":[]}' ;;
    bye) echo '{"ok":true}' && exit 0 ;;
  esac
done
