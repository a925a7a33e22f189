"""The page that ``?`` shows: it fits a screen of 80 columns and 24 lines."""

from __future__ import annotations

HELP = """\
Left is the run. Right is the state after the highlighted step, with *
where the step changed it, and below it what may happen next.

Tab         the next pane; arrows, or j and k, move in it
← →         one step back, one step on; h and l do the same
g G         to the start, to the end of the run
v           to the first step that violates a property (marked !)
Enter       in the pane "next": take the step, or unfold what it names;
            a step that the run does not take branches off from it
b           the next of the runs
u r         undo, redo
/           along the run to the next state where an expression holds
s           to the nearest such state, by a search from here
w W         watch an expression; drop the last one watched
            epoch[s1] > 1 and not opened[s1], or a property's name
f           every cell of the state, or only those that say something
^s          save the run: as ITF if the name ends in .json, or as a line
y           the line that repeats the run; it is copied, too
o           open another file, line or model
m           what the rules mean that stand on the screen
t q         dark or light; quit"""
