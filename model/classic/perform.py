"""What each verb of a rule does, as code."""

from __future__ import annotations

from fencepost.model.classic import perform_members as members
from fencepost.model.classic import perform_rebalance as phases
from fencepost.model.classic import perform_storage as storage
from fencepost.model.classic.work import Effect
from fencepost.model.coordinator import Config
from fencepost.model.table.effects import Do

_EFFECTS: dict[Do, Effect] = {
    Do.CREATE_GROUP: members.create_group,
    Do.HAND_OUT_PENDING: members.hand_out_pending,
    Do.HAND_OUT_HOLDER: members.hand_out_holder,
    Do.ADD_DYNAMIC: members.add_dynamic,
    Do.ADMIT_PENDING: members.admit_pending,
    Do.ADD_STATIC: members.add_static,
    Do.ADD_STATIC_AS_SENT: members.add_static_as_sent,
    Do.REPLACE_HOLDER: members.replace_holder,
    Do.REPLACE_HOLDER_AS_SENT: members.replace_holder_as_sent,
    Do.KEEP_HOLDER: members.keep_holder,
    Do.MAP_CALLER: members.map_caller,
    Do.SEAT_IDLE: members.seat_idle,
    Do.UPDATE_MEMBER: members.update_member,
    Do.REMOVE_CALLER: members.remove_caller,
    Do.REMOVE_HOLDER: members.remove_holder,
    Do.REMOVE_MEMBER: members.remove_member,
    Do.REMOVE_PENDING: members.remove_pending,
    Do.REMOVE_UNSYNCED: members.remove_unsynced,
    Do.REMOVE_UNSYNCED_DYNAMIC: members.remove_unsynced_dynamic,
    Do.REMOVE_ABSENT_DYNAMIC: members.remove_absent_dynamic,
    Do.POSTPONE: phases.postpone,
    Do.COMPLETE_JOIN: phases.complete_join,
    Do.START_SYNC_TIMER: phases.start_sync_timer,
    Do.BECOME_EMPTY: phases.become_empty,
    Do.PARK_JOIN: phases.park_join,
    Do.ANSWER_CURRENT: phases.answer_current,
    Do.ANSWER_RESTARTED: phases.answer_restarted,
    Do.PARK_SYNC: phases.park_sync,
    Do.NOTE_SYNC: phases.note_sync,
    Do.ASSIGN: phases.assign,
    Do.ANSWER_SYNCS: phases.answer_syncs,
    Do.REFUSE_SYNCS: phases.refuse_syncs,
    Do.ANSWER_ASSIGNMENT: phases.answer_assignment,
    Do.RESTART_SESSION: phases.restart_session,
    Do.MAYBE_RESTART_SESSION: phases.maybe_restart_session,
    Do.STORE_OFFSETS: storage.store_offsets,
    Do.REMOVE_OFFSETS: storage.remove_offsets,
    Do.PERSIST: storage.persist,
    Do.FORGET: storage.forget,
    Do.RELOAD: storage.reload,
}


def effects_with(config: Config, target_size: int | None) -> dict[Do, Effect]:
    """Return the effects by their verbs, under a broker's settings.

    `target_size`: as the revision's.
    """
    delay = config["group.initial.rebalance.delay.ms"] or 0
    return {
        **_EFFECTS,
        **phases.rebalances(delay, target_size),
    }
