"""What every door on a loopback port needs: every user of the machine reaches it, and only one of them may come in."""
